// Tests of the parsers for Slack's mrkdwn and for the markdown block.

import assert from "node:assert/strict";
import { test } from "node:test";

import { parseMarkdown } from "../../src/sim/page/markdown.js";
import { parse, plain, safeUrl } from "../../src/sim/page/mrkdwn.js";

/** Formats a tree as one line: the visible text, with the kinds of its parts. */
function format(nodes) {
  return nodes.map((node) => {
    switch (node.type) {
      case "text": return node.text;
      case "break": return "⏎";
      case "line": return format(node.children);
      case "code": case "pre": return `${node.type}(${node.text})`;
      case "emoji": return node.text;
      case "user": return `user(${node.id ?? node.name}${node.label ? `|${node.label}` : ""})`;
      case "channel": case "group": return `${node.type}(${node.id}${node.label ? `|${node.label}` : ""})`;
      case "broadcast": return `broadcast(${node.name})`;
      case "date": return `date(${node.unix} ${node.format}${node.url ? ` ${node.url}` : ""}|${node.fallback})`;
      case "link": return `link(${node.url}|${format(node.children)})`;
      case "list": return `list(${node.items.map((item) => `${"  ".repeat(item.indent)}${format(item.children)}`).join(";")})`;
      case "table": return `table(${node.rows.map((row) => row.map(format).join(",")).join(";")})`;
      case "rule": return "rule";
      default: return `${node.type}${node.level ?? ""}(${format(node.children)})`;
    }
  }).join("");
}

const cases = (name, read, table) => test(name, () => {
  for (const [text, expected] of table) assert.equal(format(read(text)), expected, JSON.stringify(text));
});

cases("marks need a border on both sides, as in Slack", parse, [
  ["*bold* _italic_ ~strike~", "bold(bold) italic(italic) strike(strike)"],
  ["*bold _and italic_*", "bold(bold italic(and italic))"],
  ["2*3*4 snake_case_name a~b~c", "2*3*4 snake_case_name a~b~c"],
  ["* not bold * and *open", "* not bold * and *open"],
  ["*two\nlines*", "*two⏎lines*"],
  ["(*inside*), *x*.", "(bold(inside)), bold(x)."],
  ["*checkout* `1.4` runs", "bold(checkout) code(1.4) runs"],
  ["**", "**"],
  ["*a `*` b*", "bold(a code(*) b)"],
]);

cases("code is never formatted inside", parse, [
  ["`*a* &lt;b&gt; :x:`", "code(*a* <b> :x:)"],
  ["```\nif (a &lt; b) {\n  *x*\n}\n```", "pre(if (a < b) {\n  *x*\n})"],
  ["before ```x``` after", "before pre(x) after"],
  ["``` open", "``` open"],
  ["`open", "`open"],
  ["`<https://a.example|label>`", "code(label)"],
]);

cases("references in angle brackets", parse, [
  ["<@U0ALICE> and <@U0BOB|bob>", "user(U0ALICE) and user(U0BOB|bob)"],
  ["<#C0DEPLOYS|deploys> <!here> <!subteam^S1|@release-managers>", "channel(C0DEPLOYS|deploys) broadcast(here) group(S1|@release-managers)"],
  ["<https://a.example/x?a=1&amp;b=2|a &lt;b&gt;>", "link(https://a.example/x?a=1&b=2|a <b>)"],
  ["<https://a.example>", "link(https://a.example|https://a.example)"],
  ["<mailto:a@b.example|write>", "link(mailto:a@b.example|write)"],
  ["<javascript:alert(1)|click>", "<javascript:alert(1)|click>"],
  ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ["a < b > c", "a < b > c"],
  ["<!date^1763262000^{date_short} {time}|then>", "date(1763262000 {date_short} {time}|then)"],
  ["<!date^1763262000^{ago}^https://a.example/|then>", "date(1763262000 {ago} https://a.example/|then)"],
  ["*<https://a.example|a*b>*", "bold(link(https://a.example|a*b))"],
]);

cases("escaped text is shown as text, never as a reference", parse, [
  ["&lt;!channel&gt; &amp;lt; &amp;amp;", "<!channel> &lt; &amp;"],
  ["&lt;@U0ALICE&gt;", "<@U0ALICE>"],
]);

cases("emoji, quotes and lines", parse, [
  [":white_check_mark: done :rocket:", "✅ done 🚀"],
  [":no_such_thing: 10:30:00", ":no_such_thing: 10:30:00"],
  ["&gt; quoted\n&gt; *twice*\nafter", "quote(quoted⏎bold(twice))after"],
  ["a\nb", "a⏎b"],
]);

test("a typed @name is a mention if the person exists", () => {
  const names = new Set(["gantry"]);
  assert.equal(format(parse("@gantry list, @nobody, a@gantry", { names })), "user(gantry) list, @nobody, a@gantry");
});

test("plain text has emoji but no formatting", () => {
  assert.equal(format(plain("*a* <@U1> :x: &amp;")), "*a* <@U1> ❌ &");
});

test("links that could run code are not links", () => {
  for (const url of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", " https://a", "//a", "file:///etc"]) assert.equal(safeUrl(url), null, url);
  assert.equal(safeUrl("https://a.example/x"), "https://a.example/x");
});

test("hostile text is parsed quickly", () => {
  const started = performance.now();
  for (const text of ["*_~".repeat(3000), "<".repeat(9000), "`".repeat(9000), ":".repeat(9000), "*a ".repeat(3000), "> ".repeat(3000)]) {
    parse(text);
    parseMarkdown(text);
  }
  assert.ok(performance.now() - started < 5000);
});

cases("the markdown block", parseMarkdown, [
  ["# Title\n\ntext **bold** *it* _it_ ~~no~~ `c`", "heading1(Title)text bold(bold) italic(it) italic(it) strike(no) code(c)"],
  ["- one\n  - two\n- [three](https://a.example)", "list(one;  two;link(https://a.example|three))"],
  ["1. one\n2. two", "list(one;two)"],
  ["> said\n> again", "quote(said⏎again)"],
  ["```rust\nlet a = *b;\n```\nafter", "pre(let a = *b;)after"],
  ["| a | b |\n|---|:-:|\n| 1 | **2** |", "table(a,b;1,bold(2))"],
  ["---", "rule"],
  ["snake_case_name and [bad](javascript:alert)", "snake_case_name and [bad](javascript:alert)"],
  ["\\*no\\*", "*no*"],
]);
