// SPDX-License-Identifier: MIT OR Apache-2.0

//! Formats of keys that are known when a program is compiled: each becomes a module, with a method for each of its parts.

/// Defines a module for each format: `pub name: "room/${number:*}/${what:**}"`, separated by
/// commas.
///
/// The module has `formatter()`, which takes values by
/// [`keformat!`](crate::key_expr::format::keformat), and `parse(key)`, whose result has the values
/// of a key by a method for each part: `&keyexpr`, or `Option<&keyexpr>` where the pattern is `**`.
/// A text that is no format does not compile.
///
/// ```
/// use zonda::key_expr::format::{kedefine, keformat};
/// use zonda::key_expr::keyexpr;
///
/// kedefine!(
///     pub rooms: "room/${number:*}/${what:**}",
///     lamps: "lamp/${id:*}",
/// );
///
/// let number = 7;
/// let key = keformat!(rooms::formatter(), number, what = "light/on")?;
/// assert_eq!(key, "room/7/light/on");
/// let parsed = rooms::parse(&key)?;
/// assert_eq!(parsed.number(), keyexpr::new("7")?);
/// assert_eq!(parsed.what().map(|what| what.as_str()), Some("light/on"));
/// assert!(lamps::parse(&key).is_err());
/// # Ok::<(), zonda::Error>(())
/// ```
/// ```compile_fail
/// zonda::kedefine!(rooms: "room/${number:*");
/// ```
#[macro_export]
macro_rules! kedefine {
    ($($seen:vis $name:ident : $format:tt),* $(,)?) => {$(
        #[doc = concat!("The format `", $format, "`.")]
        #[allow(dead_code)]
        $seen mod $name {
            $crate::key_expr::format::define_format! { $crate $format }
        }
    )*};
}

/// Sets values for the parts of a [format](crate::key_expr::format::kedefine)'s formatter,
/// `name = value` or `name` alone for a variable of that name, and stops at the first that is not
/// accepted. Returns the formatter, or the error.
#[macro_export]
macro_rules! kewrite {
    (@ $formatter:ident $(,)?) => {
        ::core::result::Result::Ok($formatter)
    };
    (@ $formatter:ident, $($rest:tt)+) => {
        $crate::kewrite!($formatter, $($rest)+)
    };
    ($formatter:expr, $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $formatter.$name($value)$(.and_then(|formatter| $crate::kewrite!(@ formatter, $($rest)*)))?
    };
    ($formatter:expr, $name:ident $(, $($rest:tt)*)?) => {
        $formatter.$name($name)$(.and_then(|formatter| $crate::kewrite!(@ formatter, $($rest)*)))?
    };
}

/// Builds a key as [`kewrite!`](crate::key_expr::format::kewrite) does, and returns it owned.
///
/// ```
/// use zonda::key_expr::format::{kedefine, keformat, kewrite};
///
/// kedefine!(rooms: "room/${number:*}/${what:**#light}");
/// let mut formatter = rooms::formatter();
/// assert_eq!(keformat!(formatter, number = 3)?, "room/3/light");
/// kewrite!(formatter, number = 4)?;
/// assert_eq!(formatter.build()?, "room/4/light");
/// assert!(keformat!(formatter, number = "4/5").is_err());
/// # Ok::<(), zonda::Error>(())
/// ```
#[macro_export]
macro_rules! keformat {
    ($($tokens:tt)+) => {
        match $crate::kewrite!($($tokens)+) {
            ::core::result::Result::Ok(formatter) => formatter.build(),
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error.into()),
        }
    };
}
