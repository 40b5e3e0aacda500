// SPDX-License-Identifier: MIT OR Apache-2.0

//! Key expressions, parameters, selectors.

use std::collections::HashMap;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyType};
use zonda::key_expr::KeyExpr as InnerKey;
use zonda::query::{Parameters as InnerParameters, Selector as InnerSelector};

use crate::enums::SetIntersectionLevel;
use crate::error::OrRaise;

/// Reads an argument: a key expression or a text.
pub fn key(value: &Bound<'_, PyAny>) -> PyResult<InnerKey<'static>> {
    if let Ok(key) = value.cast::<KeyExpr>() {
        return Ok(key.get().0.clone());
    }
    let text = text(value, "key expression: a KeyExpr or a str")?;
    InnerKey::new(text).or_raise()
}

/// Reads a text. What is no text raises `expected`, and a text that has no UTF-8 the error of Python.
fn text(value: &Bound<'_, PyAny>, expected: &'static str) -> PyResult<String> {
    value
        .extract()
        .map_err(|error| match value.is_instance_of::<PyString>() {
            true => error,
            false => PyTypeError::new_err(expected),
        })
}

/// A key, or an expression for several keys: `*` stands for one chunk, `**` for any number.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone)]
pub struct KeyExpr(pub InnerKey<'static>);

#[pymethods]
impl KeyExpr {
    #[new]
    fn new(key_expr: String) -> PyResult<Self> {
        InnerKey::new(key_expr).or_raise().map(KeyExpr)
    }

    /// Makes a key expression of a text that need not be canonical. Raises ZError.
    #[classmethod]
    fn autocanonize(_cls: &Bound<'_, PyType>, key_expr: String) -> PyResult<Self> {
        InnerKey::autocanonize(key_expr).or_raise().map(KeyExpr)
    }

    /// Returns whether some key belongs to both.
    fn intersects(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.intersects(&key(other)?))
    }

    /// Returns whether every key of the other belongs to this one.
    fn includes(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.includes(&key(other)?))
    }

    /// Returns the relation to the other.
    fn relation_to(&self, other: &Bound<'_, PyAny>) -> PyResult<SetIntersectionLevel> {
        Ok(self.0.relation_to(&key(other)?).into())
    }

    /// Returns this, a slash, and the other. Raises ZError.
    fn join(&self, other: &str) -> PyResult<Self> {
        self.0.join(other).or_raise().map(KeyExpr)
    }

    /// Returns this and the other without a slash between. Raises ZError.
    fn concat(&self, other: &str) -> PyResult<Self> {
        let joined = self.0.concat(other).or_raise()?;
        Ok(KeyExpr(joined.into_owned()))
    }

    fn __str__(&self) -> &str {
        self.0.as_str()
    }

    fn __repr__(&self) -> String {
        format!("KeyExpr({:?})", self.0.as_str())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.0.as_str()).hash()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<KeyExpr>() {
            Ok(other) => self.0 == other.get().0,
            Err(_) => other
                .extract::<PyBackedStr>()
                .is_ok_and(|other| self.0.as_str() == &*other),
        }
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.0.join(key(other)?.as_str()).or_raise().map(KeyExpr)
    }
}

/// Reads an argument: parameters, a text, or a dict.
pub fn parameters(value: &Bound<'_, PyAny>) -> PyResult<InnerParameters<'static>> {
    if let Ok(parameters) = value.cast::<Parameters>() {
        return Ok(parameters.borrow().0.clone());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let entries: HashMap<String, String> = dict.extract()?;
        return Ok(InnerParameters::from(entries));
    }
    let expected = "parameters: Parameters, a str such as 'a=1;b=2', or a dict of str";
    let text = text(value, expected)?;
    Ok(InnerParameters::from(text))
}

/// Parameters of a selector: names with values, as in `a=1;b=2`.
#[pyclass(module = "zonda")]
#[derive(Clone)]
pub struct Parameters(pub InnerParameters<'static>);

#[pymethods]
impl Parameters {
    #[new]
    #[pyo3(signature = (parameters=None))]
    fn new(parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Parameters(
            parameters
                .map(self::parameters)
                .transpose()?
                .unwrap_or_default(),
        ))
    }

    /// Returns whether there is no parameter.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a name, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get(&self, key: &str, default: Option<String>) -> Option<String> {
        self.0.get(key).map(str::to_owned).or(default)
    }

    /// Returns the values of a name, which are separated by `|`.
    fn values(&self, key: &str) -> Vec<String> {
        self.0.values(key).map(str::to_owned).collect()
    }

    /// Sets the value of a name.
    fn insert(&mut self, key: &str, value: &str) {
        self.0.insert(key, value);
    }

    /// Removes a name.
    fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Sets the values of all names of the other.
    fn extend(&mut self, parameters: &Bound<'_, PyAny>) -> PyResult<()> {
        let other = self::parameters(parameters)?;
        self.0.extend(&other);
        Ok(())
    }

    /// Returns whether the names are in order.
    fn is_ordered(&self) -> bool {
        self.0.iter().map(|(name, _)| name).is_sorted()
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }

    fn __contains__(&self, item: &str) -> bool {
        self.0.contains_key(item)
    }

    fn __getitem__(&self, item: &str) -> PyResult<String> {
        let value = self.0.get(item).map(str::to_owned);
        value.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(item.to_owned()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().collect::<Vec<_>>())?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        parameters(other).is_ok_and(|other| other == self.0)
    }

    fn __str__(&self) -> &str {
        self.0.as_str()
    }

    fn __repr__(&self) -> String {
        format!("Parameters({:?})", self.0.as_str())
    }
}

/// Reads an argument: a selector, a key expression, or a text such as `demo/**?a=1`.
pub fn selector(value: &Bound<'_, PyAny>) -> PyResult<InnerSelector<'static>> {
    if let Ok(selector) = value.cast::<Selector>() {
        let selector = selector.borrow();
        return Ok(InnerSelector::owned(
            selector.key.clone(),
            selector.parameters.clone(),
        ));
    }
    if let Ok(key) = value.cast::<KeyExpr>() {
        return Ok(InnerSelector::from(key.get().0.clone()));
    }
    let text = text(value, "selector: a Selector, a KeyExpr or a str")?;
    InnerSelector::try_from(text).or_raise()
}

/// A key expression with parameters: the argument of a query.
#[pyclass(module = "zonda")]
#[derive(Clone)]
pub struct Selector {
    key: InnerKey<'static>,
    parameters: InnerParameters<'static>,
}

impl From<InnerSelector<'_>> for Selector {
    fn from(selector: InnerSelector<'_>) -> Self {
        let (key, parameters) = selector.into_owned().split();
        Selector { key, parameters }
    }
}

#[pymethods]
impl Selector {
    #[new]
    #[pyo3(signature = (arg, /, parameters=None))]
    fn new(arg: &Bound<'_, PyAny>, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut selector = Selector::from(selector(arg)?);
        if let Some(parameters) = parameters.filter(|parameters| !parameters.is_none()) {
            selector.parameters = self::parameters(parameters)?;
        }
        Ok(selector)
    }

    #[getter]
    fn key_expr(&self) -> KeyExpr {
        KeyExpr(self.key.clone())
    }

    #[setter]
    fn set_key_expr(&mut self, key_expr: &Bound<'_, PyAny>) -> PyResult<()> {
        self.key = key(key_expr)?;
        Ok(())
    }

    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters(self.parameters.clone())
    }

    #[setter]
    fn set_parameters(&mut self, parameters: &Bound<'_, PyAny>) -> PyResult<()> {
        self.parameters = self::parameters(parameters)?;
        Ok(())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        selector(other).is_ok_and(|other| {
            *other.key_expr() == self.key && *other.parameters() == self.parameters
        })
    }

    fn __str__(&self) -> String {
        InnerSelector::borrowed(&self.key, &self.parameters).to_string()
    }

    fn __repr__(&self) -> String {
        format!("Selector({:?})", self.__str__())
    }
}
