// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! The part of `zonda::kedefine!` that a macro by example cannot do: it reads a format when a
//! program is compiled, and writes a method for each of its parts.

use proc_macro::{Group, TokenStream, TokenTree};
use zonda_codec::key_expr::format::{KeFormat, Segment};

/// Generates the module of a format: the path of the crate `zonda` and a literal with the format
/// become its types.
///
/// `zonda::kedefine!` calls it; other code need not.
#[proc_macro]
pub fn define_format(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter();
    let (Some(path), Some(literal)) = (tokens.next(), tokens.next()) else {
        return failed("a path and a format are wanted");
    };
    let written = text_of(&literal).and_then(|format| module(&format));
    match written {
        Ok(module) => with_path(module, &path),
        Err(problem) => failed(&problem),
    }
}

fn failed(problem: &str) -> TokenStream {
    parsed(&format!("::core::compile_error!({problem:?});"))
}

fn parsed(code: &str) -> TokenStream {
    code.parse().expect("what is written here is Rust")
}

/// Returns the text of a literal. Escapes have no place in a format.
fn text_of(literal: &TokenTree) -> Result<String, String> {
    let source = match literal {
        TokenTree::Group(group) => group.stream().to_string(),
        other => other.to_string(),
    };
    let quoted = source.trim_start_matches('r').trim_matches('#');
    let text = quoted.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    match text {
        Some(text) if !text.contains('\\') => Ok(text.to_owned()),
        _ => Err(format!("{source} is no text in quotes without escapes")),
    }
}

/// Placeholder of the path until [`with_path`].
const PATH: &str = "zonda_path";

fn module(format: &str) -> Result<String, String> {
    let read = KeFormat::new(format).map_err(|error| error.to_string())?;
    let segments = read.segments();
    if let Some(bad) = segments.iter().find(|segment| !is_name(segment.id())) {
        return Err(format!("{} is no name of a method", bad.id()));
    }
    let setters: String = segments.iter().map(setter).collect();
    let getters: String = segments
        .iter()
        .enumerate()
        .map(|(at, segment)| getter(at, segment))
        .collect();
    let (types, functions) = (types(format), FUNCTIONS);
    Ok(format!(
        "{types} impl Formatter {{ {setters} }} impl<'s> Parsed<'s> {{ {getters} }} {functions}"
    )
    .replace("$", PATH))
}

fn is_name(id: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_word =
        id.starts_with(is_letter) && id.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    is_word && !KEYWORDS.contains(&id)
}

/// Words that look like a name and are none, strict and reserved, up to edition 2024.
const KEYWORDS: &[&str] = &[
    "_", "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn types(format: &str) -> String {
    // The one text that may hold a `$` of its own is passed separately.
    let bytes: Vec<String> = format.bytes().map(|byte| byte.to_string()).collect();
    let bytes = bytes.join(",");
    format!(
        "fn read() -> &'static $::key_expr::format::KeFormat<'static> {{
            static FORMAT: ::std::sync::LazyLock<$::key_expr::format::KeFormat<'static>> =
                ::std::sync::LazyLock::new(|| {{
                    let text = ::core::str::from_utf8(&[{bytes}]).expect(\"it was a text\");
                    $::key_expr::format::KeFormat::new(text).expect(\"it was a format\")
                }});
            &FORMAT
        }}
        /// The format.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct Format;
        /// Takes values for the parts of the format, and builds keys of them.
        #[derive(Clone)]
        pub struct Formatter($::key_expr::format::KeFormatter<'static>);
        /// The values that a key has for the parts of the format.
        pub struct Parsed<'s>($::key_expr::format::Parsed<'s>);"
    )
}

fn setter(segment: &Segment<'_>) -> String {
    let id = segment.id();
    format!(
        "/// Gives the part a value, as it is displayed.
        pub fn {id}<S: ::core::fmt::Display>(
            &mut self,
            value: S,
        ) -> ::core::result::Result<&mut Self, $::key_expr::format::FormatSetError> {{
            self.0.set({id:?}, value)?;
            Ok(self)
        }}"
    )
}

fn getter(at: usize, segment: &Segment<'_>) -> String {
    let id = segment.id();
    match segment.pattern().as_str() {
        "**" => format!(
            "/// The value of the part; `None` where it stands for no chunk.
            pub fn {id}(&self) -> ::core::option::Option<&'s $::key_expr::keyexpr> {{
                self.0.values()[{at}]
            }}"
        ),
        _ => format!(
            "/// The value of the part.
            pub fn {id}(&self) -> &'s $::key_expr::keyexpr {{
                self.0.values()[{at}].expect(\"its pattern does not stand for nothing\")
            }}"
        ),
    }
}

const FUNCTIONS: &str = "
    impl Format {
        /// Returns a collector of values for the parts.
        pub fn formatter() -> Formatter {
            Formatter(read().formatter())
        }
        /// Reads the values of a key.
        pub fn parse<'s>(
            key: &'s $::key_expr::keyexpr,
        ) -> ::core::result::Result<Parsed<'s>, $::key_expr::format::FormatError> {
            read().parse(key).map(Parsed)
        }
    }
    /// Returns a collector of values for the parts.
    pub fn formatter() -> Formatter {
        Format::formatter()
    }
    /// Reads the values of a key.
    pub fn parse<'s>(
        key: &'s $::key_expr::keyexpr,
    ) -> ::core::result::Result<Parsed<'s>, $::key_expr::format::FormatError> {
        Format::parse(key)
    }
    impl ::core::fmt::Debug for Format {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Debug::fmt(read(), f)
        }
    }
    impl ::core::fmt::Display for Format {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Display::fmt(read(), f)
        }
    }
    impl ::core::fmt::Debug for Formatter {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Debug::fmt(&self.0, f)
        }
    }
    impl ::core::fmt::Debug for Parsed<'_> {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Debug::fmt(&self.0, f)
        }
    }
    impl ::core::ops::Deref for Format {
        type Target = $::key_expr::format::KeFormat<'static>;
        fn deref(&self) -> &Self::Target {
            read()
        }
    }
    impl ::core::ops::Deref for Formatter {
        type Target = $::key_expr::format::KeFormatter<'static>;
        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }
    impl ::core::ops::DerefMut for Formatter {
        fn deref_mut(&mut self) -> &mut Self::Target {
            &mut self.0
        }
    }
    impl<'s> ::core::ops::Deref for Parsed<'s> {
        type Target = $::key_expr::format::Parsed<'s>;
        fn deref(&self) -> &Self::Target {
            &self.0
        }
    }
";

/// Returns the code with the path where [`PATH`] stands.
fn with_path(code: String, path: &TokenTree) -> TokenStream {
    replaced(parsed(&code), path)
}

fn replaced(tokens: TokenStream, path: &TokenTree) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(name) if name.to_string() == PATH => path.clone(),
        TokenTree::Group(group) => {
            let inside = replaced(group.stream(), path);
            let mut changed = Group::new(group.delimiter(), inside);
            changed.set_span(group.span());
            TokenTree::Group(changed)
        }
        other => other,
    };
    tokens.into_iter().map(replace).collect()
}
