// SPDX-License-Identifier: MIT OR Apache-2.0
//! Self-contained pages: one file each, with figures as SVG, checkboxes that filter them, and the
//! facts about the run. A page needs no other file and no network. [`chart`] draws curves,
//! [`distribution`] latencies, and [`record`] makes the page of a
//! [`Record`](super::record::Record).

mod bars;
mod chart;
mod distribution;
mod export;
mod figure;
mod plot;
mod record;
mod scale;
mod words;

pub use plot::{Plot, plot, reserve, write};

/// Style and script.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The parts of a page, as HTML except for the title.
#[derive(Debug, Default)]
struct Page {
    /// The title.
    title: String,
    /// Machine, build and settings, as far as they are known.
    facts: String,
    /// The meaning of the figures.
    legend: String,
    /// Checkboxes that filter.
    boxes: String,
    /// Sections with figures.
    body: String,
}

impl Page {
    /// Returns the whole file.
    fn html(&self) -> String {
        let title = escape(&self.title);
        let Page {
            facts,
            legend,
            boxes,
            body,
            ..
        } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n<table>{facts}</table>\n<p>{legend}</p>\n<form>{boxes}</form>\n{body}<script>\n{SCRIPT}</script>\n\
             </body></html>\n",
        )
    }
}

/// Returns a row with a fact about the run.
fn fact(name: &str, value: &str) -> String {
    format!("<tr><th>{}<td>{}\n", escape(name), escape(value))
}

/// Returns a row of checkboxes for values, each with its text and the CSS class of its colour. A
/// part of the page with `data-<name>="<value>"` is visible while the checkbox of that value is
/// checked.
fn boxes(name: &str, values: impl Iterator<Item = [String; 3]>) -> String {
    let each = values.map(|[value, shown, class]| {
        let (value, shown) = (escape(&value), escape(&shown));
        let input = format!("<input type=\"checkbox\" checked name=\"{name}\" value=\"{value}\">");
        format!("<label class=\"{class}\">{input}{shown}</label> ")
    });
    let all: String = each.collect();
    if all.is_empty() {
        return all;
    }
    format!("<fieldset><legend>{name}</legend>{all}</fieldset>")
}

/// Returns a section of the page, which the checkbox of its case hides.
fn section(case: &str, title: &str, content: &str) -> String {
    let (case, title) = (escape(case), escape(title));
    format!("<section data-part data-case=\"{case}\">\n<h2>{title}</h2>\n{content}</section>\n")
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

/// Returns the CSS class of the colour with that number.
fn colour(number: usize) -> String {
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
            facts: fact("command", "zonda <x>"),
            legend: "One round.".into(),
            boxes: boxes(
                "case",
                [["p2p", "peer to peer", ""].map(str::to_owned)].into_iter(),
            ),
            body: section("p2p", "p2p", "<svg></svg>"),
        };
        let html = page.html();
        for part in [
            "<title>A &amp; B</title>",
            "<td>zonda &lt;x>",
            "name=\"case\" value=\"p2p\">peer to peer</label>",
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
