// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a page as standalone SVG files, with their style inside.

use super::STYLE;

/// The namespace that image viewers require.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// Returns every figure of a page: a file name, and the content.
pub fn figures(html: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut section = String::new();
    let mut rest = html;
    while let Some(at) = rest.find("<svg ") {
        let (before, figure) = rest.split_at(at);
        // the heading before the figure names its section
        if let Some(title) = before
            .rsplit("<h2>")
            .next()
            .filter(|_| before.contains("<h2>"))
        {
            section = title.split("</h2>").next().unwrap_or_default().to_owned();
        }
        let (figure, behind) = match figure.split_once("</svg>") {
            Some(parts) => parts,
            None => break,
        };
        rest = behind;
        // a file name from section and title, numbered if it repeats
        let title = figure.split("aria-label=\"").nth(1);
        let title = title.and_then(|title| title.split('"').next());
        let name = slug(&format!("{section} {}", title.unwrap_or_default()));
        let same = all
            .iter()
            .filter(|(other, _)| other.starts_with(&name))
            .count();
        let number = if same == 0 {
            String::new()
        } else {
            format!("-{}", same + 1)
        };
        // the file is the figure with namespace and style
        let inside = figure.split_once('>');
        if let Some((tag, content)) = inside {
            let tag = tag.replacen("<svg", &format!("<svg xmlns=\"{NAMESPACE}\""), 1);
            let style = style();
            let file = format!("{tag}>\n<style>{style}</style>{content}</svg>\n");
            all.push((format!("{name}{number}.svg"), file));
        }
    }
    all
}

/// Returns the style of pages, on white, for viewers that do not support variables.
fn style() -> String {
    let bright = STYLE.split("@media").next().unwrap_or_default();
    let plain = format!("{bright}svg {{ background: #fff; }}\n");
    let plain = plain.replace("--c:", "color:");
    let plain = plain.replace("g { color: var(--c); }", "");
    plain.replace('&', "&amp;").replace('<', "&lt;")
}

/// Reduces a text to letters, digits and hyphens.
fn slug(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => ' ',
    };
    let text: String = text.chars().map(plain).collect();
    text.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_a_file_that_is_xml() {
        let figure = |title: &str| {
            format!("<svg viewBox=\"0 0 4 4\" aria-label=\"{title}\"><text>{title}</text></svg>")
        };
        let html = format!(
            "<style>svg {{}}</style><h2>p2p by size</h2>{}{}<h2>routed</h2>{}",
            figure("median latency"),
            figure("median latency"),
            figure("payload, bits"),
        );
        let files = figures(&html);
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "p2p-by-size-median-latency.svg",
                "p2p-by-size-median-latency-2.svg",
                "routed-payload-bits.svg"
            ]
        );
        for (name, text) in &files {
            let parsed = roxmltree::Document::parse(text).expect(name);
            let root = parsed.root_element();
            assert_eq!(root.tag_name().namespace(), Some(NAMESPACE), "{name}");
            assert!(
                text.contains(".c0 { color: #") && !text.contains("@media"),
                "{name} has colours: {text}"
            );
        }
    }
}
