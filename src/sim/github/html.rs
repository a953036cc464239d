//! A builder of HTML: only text from the source code is markup, all other text is escaped.

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup must be a literal in the source code.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text between tags, or in the quotes of an attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for char in text.chars() {
            match char {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                char => self.0.push(char),
            }
        }
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_never_becomes_markup() {
        let mut html = Html::default();
        html.markup("<p title=\"").text("\" onclick='x' &amp;").markup("\">").text("<script>").markup("</p>");
        let expected = "<p title=\"&quot; onclick=&#39;x&#39; &amp;amp;\">&lt;script&gt;</p>";
        assert_eq!(html.finish(), expected);
    }
}
