// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules for functions: not too long, not too many parameters, each under its name, and complete
//! with any features.

use super::lexer;
use super::none;
use super::source::{Source, find, place, sources};

const LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 5;

/// A function with a body.
pub struct Function<'c> {
    pub name: &'c str,
    /// Position of `fn`.
    pub start: usize,
    /// Text between its parentheses.
    pub parameters: &'c str,
    /// Text from its opening brace to its closing one.
    pub body: &'c str,
    /// Number of lines from `fn` to the closing brace.
    pub lines: usize,
}

/// Returns the functions in `code`, nested ones included.
pub fn functions(code: &str) -> Vec<Function<'_>> {
    find(code, "fn")
        .filter_map(|start| function(code, start))
        .collect()
}

fn function(code: &str, start: usize) -> Option<Function<'_>> {
    let after = code[start + 2..].strip_prefix(' ')?;
    let name = after
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    if name.is_empty() {
        return None; // a type such as `fn(u8)`, or a macro's `fn $name`
    }
    let (open, close) = lexer::body(code.as_bytes(), start)?;
    if open == close {
        return None; // a declaration without a body
    }
    Some(Function {
        name,
        start,
        parameters: parameters(&code[start..open]),
        body: &code[open..=close],
        lines: 1 + code[start..close].matches('\n').count(),
    })
}

/// Returns the text between the parentheses of a signature; generics before them may hold
/// parentheses of their own.
fn parameters(signature: &str) -> &str {
    let (mut angle, mut round, mut from) = (0_i32, 0_i32, 0);
    let mut before = ' ';
    // Parentheses within generics do not count, nor does the `>` of an arrow.
    for (at, c) in signature.char_indices() {
        match c {
            '<' if round == 0 => angle += 1,
            '>' if round == 0 && before != '-' => angle -= 1,
            '(' if angle == 0 => {
                round += 1;
                if round == 1 {
                    from = at + 1;
                }
            }
            ')' if angle == 0 => {
                round -= 1;
                if round == 0 {
                    return &signature[from..at];
                }
            }
            _ => {}
        }
        before = c;
    }
    ""
}

/// Splits the parameters, without `self`.
fn each(parameters: &str) -> Vec<String> {
    let (mut depth, mut parts, mut before) = (0_i32, vec![String::new()], ' ');
    for c in parameters.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if before != '-' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        parts.last_mut().expect("at least one").push(c);
        before = c;
    }
    let bare = |part: String| {
        let part = part.trim_matches(|c: char| c.is_whitespace() || c == ',');
        part.to_owned()
    };
    let is_self = |part: &str| find(part.split(':').next().unwrap_or(""), "self").any(|_| true);
    let named = |part: &String| !part.is_empty() && !is_self(part);
    parts.into_iter().map(bare).filter(named).collect()
}

/// Counts the parameters, without `self`.
fn count(parameters: &str) -> usize {
    each(parameters).len()
}

/// Counts the parameters that are destructured as tuples.
fn tuples(parameters: &str) -> usize {
    let is_tuple = |part: &&String| part.trim_start_matches(['&', ' ']).starts_with('(');
    each(parameters).iter().filter(is_tuple).count()
}

fn too_long(source: &Source) -> Vec<String> {
    let long = functions(&source.code)
        .into_iter()
        .filter(|f| f.lines > LINES_MAX);
    long.map(|f| format!("{} {} has {} lines", source.place(f.start), f.name, f.lines))
        .collect()
}

fn too_wide(source: &Source) -> Vec<String> {
    // Arguments of Python have names and defaults, those of C are its headers'.
    let is_of_another_language = source.path.starts_with("bindings/");
    let wide = functions(&source.code)
        .into_iter()
        .filter(|f| !is_of_another_language && count(f.parameters) > PARAMETERS_MAX);
    wide.map(|f| {
        format!(
            "{} {} has {}",
            source.place(f.start),
            f.name,
            count(f.parameters)
        )
    })
    .collect()
}

/// Returns the places where a function that is no test destructures a tuple among its parameters,
/// once for each.
fn tuple_places(source: &Source) -> Vec<String> {
    let functions = functions(&source.product).into_iter();
    let places = functions.flat_map(|f| {
        let place = format!("{} {}", source.place(f.start), f.name);
        std::iter::repeat_n(place, tuples(f.parameters))
    });
    places.collect()
}

#[test]
fn functions_are_short() {
    let found: usize = sources().iter().map(|s| functions(&s.code).len()).sum();
    assert!(found > 1000, "the scanner saw only {found} functions");
    let places: Vec<_> = sources().iter().flat_map(too_long).collect();
    none(
        &format!("a function has at most {LINES_MAX} lines"),
        &places,
    );
}

#[test]
fn functions_have_few_parameters() {
    let places: Vec<_> = sources().iter().flat_map(too_wide).collect();
    none(
        &format!("a function has at most {PARAMETERS_MAX} parameters beside self; then a struct"),
        &places,
    );
}

#[test]
fn parameters_are_no_tuples() {
    let places: Vec<_> = sources().iter().flat_map(tuple_places).collect();
    none(
        "a tuple that groups parameters is a struct without a name: plain parameters, or a struct",
        &places,
    );
}

#[test]
fn a_feature_adds_a_file_and_changes_no_body() {
    let mut places = Vec::new();
    for source in sources() {
        for function in functions(&source.code) {
            for token in ["cfg(feature", "cfg!(feature", "cfg(not(feature"] {
                let found =
                    find(function.body, token).map(|at| at + offset(&source.code, function.body));
                places.extend(found.map(|at| place(&source.path, &source.code, at)));
            }
        }
    }
    none("no cfg(feature) inside a function", &places);
}

fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

#[test]
fn the_scanner_sees_every_shape_of_function() {
    let code = "impl A { pub const fn b(&self) -> [u8; 2] where Self: Sized {\n { }\n }\n fn c(); }\n\
                fn d<F: Fn(u8, u8) -> u8>(f: F, g: fn(u8), (x, y): (u8, u8)) { fn e() {} }\n\
                async fn h(&mut self, map: HashMap<u8, Vec<u8>>,) {}";
    let seen: Vec<_> = functions(code)
        .iter()
        .map(|f| (f.name, f.lines, count(f.parameters)))
        .collect();
    assert_eq!(seen, [("b", 3, 0), ("d", 1, 3), ("e", 1, 0), ("h", 1, 1)]);
}

#[test]
fn a_long_function_is_found_however_it_hides() {
    let filler = "    step(\"}\"); // }\n".repeat(LINES_MAX);
    for text in [
        format!("fn long() {{\n{filler}}}\n"),
        format!(
            "mod m {{ impl X {{ fn long<'a>(x: &'a [u8; 2]) -> char {{ '}}';\n{filler}}} }} }}\n"
        ),
        format!("#[cfg(test)]\nmod tests {{\n#[test]\nfn long() {{\n{filler}}}\n}}\n"),
    ] {
        assert_eq!(too_long(&Source::new("x.rs", &text)).len(), 1, "{text}");
    }
    let short = format!("fn short() {{\n{}}}\n", "    x();\n".repeat(LINES_MAX - 2));
    assert!(too_long(&Source::new("x.rs", &short)).is_empty());
}

#[test]
fn tuples_are_seen_among_parameters_and_nowhere_else() {
    let code = "fn a((x, y): (u8, u8), z: u8) {}\n\
                fn b(&self, &(x, y): &Pair, (u, v): (u8, u8)) { fn c((w, _): Pair) {} }\n\
                fn d<F: Fn((u8, u8)) -> u8>(f: F, pair: (u8, u8), g: fn((u8, u8))) { f(|(x, y)| x) }\n\
                fn e(Pair(x, y): Pair, [z]: [u8; 1]) { let (a, b) = (x, y); }";
    let seen: Vec<_> = functions(code)
        .iter()
        .map(|f| (f.name, tuples(f.parameters)))
        .collect();
    assert_eq!(seen, [("a", 1), ("b", 2), ("c", 1), ("d", 0), ("e", 0)]);
}

#[test]
fn tuples_are_seen_in_products_alone() {
    let text = "fn a((x, y): Pair) {}\n#[cfg(test)]\nmod tests { fn b((x, y): Pair) {} }\n";
    assert_eq!(tuple_places(&Source::new("x.rs", text)), ["x.rs:1 a"]);
    assert!(tuple_places(&Source::new("tests.rs", text)).is_empty());
}
