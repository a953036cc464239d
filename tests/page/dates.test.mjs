// Tests of dates in Slack's format.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, clockTime, dayLabel, formatDate } from "../../src/sim/page/dates.js";

const at = (text) => Date.parse(text) / 1000;
const UTC = { timeZone: "UTC" };

test("every token of Slack's date format is replaced", () => {
  const now = at("2026-11-16T12:00:00Z");
  const moment = at("2025-02-08T06:09:05Z");
  const table = [
    ["{date_num}", "2025-02-08"], ["{date_slash}", "02/08/2025"], ["{date}", "February 8th, 2025"], ["{date_short}", "Feb 8, 2025"],
    ["{date_long}", "Saturday, February 8th, 2025"], ["{date_pretty}", "February 8th, 2025"], ["{time}", "06:09"], ["{time_secs}", "06:09:05"],
    ["on {date_num} at {time}, {unknown}", "on 2025-02-08 at 06:09, {unknown}"], ["no token", "no token"],
  ];
  for (const [format, expected] of table) assert.equal(formatDate(moment, format, now, UTC), expected, format);
  assert.equal(formatDate(moment, "{time}", now, { ...UTC, hour12: true }), "6:09 AM");
  assert.equal(formatDate(at("2026-11-03T00:00:00Z"), "{date_long} {date_short}", now, UTC), "Tuesday, November 3rd Nov 3");
});

test("today, yesterday and tomorrow depend on the reader's time zone", () => {
  const now = at("2026-11-16T00:30:00Z");
  const moment = at("2026-11-15T23:30:00Z");
  assert.equal(formatDate(moment, "{date_pretty}", now, UTC), "yesterday");
  assert.equal(formatDate(moment, "{date_short_pretty}", now, { timeZone: "Europe/Kyiv" }), "today");
  assert.equal(formatDate(now + 86_400, "{date_long_pretty}", now, UTC), "tomorrow");
  assert.equal(dayLabel(now, now, UTC), "Today");
  assert.equal(dayLabel(at("2026-11-12T10:00:00Z"), now, UTC), "Thursday, November 12th");
});

test("ordinals of the teens end with th", () => {
  const now = at("2026-01-01T00:00:00Z");
  const day = (n) => formatDate(at(`2026-03-${String(n).padStart(2, "0")}T00:00:00Z`), "{date}", now, UTC);
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31].map(day).map((text) => text.replace("March ", "")),
    ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]);
});

test("a past or future time is shown in its largest unit", () => {
  const table = [[0, "just now"], [9, "just now"], [12, "12 seconds ago"], [60, "1 minute ago"], [3599, "59 minutes ago"], [3600, "1 hour ago"],
    [2 * 86_400, "2 days ago"], [-30, "in 30 seconds"], [-3, "in a moment"], [400 * 86_400, "1 year ago"]];
  for (const [seconds, expected] of table) assert.equal(ago(1_000_000_000 - seconds, 1_000_000_000), expected);
});

test("midnight is 00:00", () => {
  assert.equal(clockTime(at("2026-11-16T00:00:00Z"), UTC), "00:00");
});
