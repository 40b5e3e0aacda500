// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages to look at: one file each, without other files and without a network, with figures as SVG, boxes that hide
//! what is not wanted, and the facts about the run. [`chart`] draws curves, [`distribution`] latencies, and [`record`] makes the
//! page of a [`Record`](super::record::Record).

mod chart;
mod distribution;
mod figure;
mod plot;
mod record;
mod scale;

pub use plot::{Plot, plot, reserve, write};

/// Looks and filters.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page consists of.
#[derive(Debug, Default)]
pub struct Page {
    /// Its name.
    pub title: String,
    /// Machine, build and settings, as far as they are known.
    pub facts: Vec<(String, String)>,
    /// Paragraphs before the figures.
    pub legend: Vec<String>,
    /// Boxes that hide and show.
    pub filters: Vec<Filter>,
    /// Sections with figures, as HTML.
    pub body: String,
}

/// A row of boxes. A part of the page with `data-<name>="<value>"` is seen while the box of that value is checked.
#[derive(Debug)]
pub struct Filter {
    /// Name of the group, one word in lower case.
    pub name: &'static str,
    /// Its values, each with the class that gives it its colour, or an empty one.
    pub values: Vec<(String, String)>,
}

impl Filter {
    /// A group without colours.
    pub fn plain(name: &'static str, values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().map(|value| (value, String::new()));
        Filter {
            name,
            values: values.collect(),
        }
    }

    fn html(&self) -> String {
        let mut boxes = String::new();
        for (value, class) in &self.values {
            let (name, value) = (self.name, escape(value));
            let input =
                format!("<input type=\"checkbox\" checked name=\"{name}\" value=\"{value}\">");
            boxes += &format!("<label class=\"{class}\">{input}{value}</label> ");
        }
        format!("<fieldset><legend>{}</legend>{boxes}</fieldset>", self.name)
    }
}

impl Page {
    /// The whole file.
    pub fn html(&self) -> String {
        let row = |(name, value): &(String, String)| {
            format!("<tr><th>{}<td>{}\n", escape(name), escape(value))
        };
        let facts: String = self.facts.iter().map(row).collect();
        let paragraph = |text: &String| format!("<p>{}</p>\n", escape(text));
        let legend: String = self.legend.iter().map(paragraph).collect();
        let filters: String = self.filters.iter().map(Filter::html).collect();
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n<table>{facts}</table>\n{legend}<form>{filters}</form>\n{}<script>\n{SCRIPT}</script>\n\
             </body></html>\n",
            self.body
        )
    }
}

/// A section of the page, hidden with the box of its case.
pub fn section(case: &str, title: &str, content: &str) -> String {
    let (case, title) = (escape(case), escape(title));
    format!("<section data-part data-case=\"{case}\">\n<h2>{title}</h2>\n{content}</section>\n")
}

/// Text that a page shows as it is.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

/// The class of the colour with that number.
pub fn colour(number: usize) -> String {
    format!("c{}", number % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let page = Page {
            title: "A & B".into(),
            facts: vec![("command".into(), "zonda <x>".into())],
            legend: vec!["One round.".into()],
            filters: vec![Filter::plain("case", ["p2p".to_owned()])],
            body: section("p2p", "p2p", "<svg></svg>"),
        };
        let html = page.html();
        for part in [
            "<title>A &amp; B</title>",
            "<td>zonda &lt;x>",
            "name=\"case\" value=\"p2p\"",
            "<section data-part data-case=\"p2p\">",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
        for elsewhere in ["://", "src=", "href=", "@import", "url("] {
            assert!(!html.contains(elsewhere), "{elsewhere}");
        }
        assert!(html.ends_with("</html>\n"));
    }
}
