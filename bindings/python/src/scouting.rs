// SPDX-License-Identifier: MIT OR Apache-2.0

//! The search for nodes.

use pyo3::prelude::*;
use zonda::Wait;
use zonda::config::Roles;
use zonda::scouting::{Hello as InnerHello, Scout as InnerScout};

use crate::config::{Config, roles};
use crate::entity::entity;
use crate::enums::WhatAmI;
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::{Value, plan};
use crate::time::ZenohId;

/// An answer of a node.
#[pyclass(module = "zonda", frozen)]
pub struct Hello(InnerHello);

impl Value for InnerHello {
    const NAME: &'static str = "Hello";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Hello(self))?.into_any())
    }
}

#[pymethods]
impl Hello {
    #[getter]
    fn whatami(&self) -> WhatAmI {
        self.0.whatami().into()
    }

    #[getter]
    fn zid(&self) -> ZenohId {
        ZenohId(self.0.zid())
    }

    #[getter]
    fn locators(&self) -> Vec<String> {
        self.0.locators().iter().map(ToString::to_string).collect()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

entity! {
    /// A running search for nodes.
    "zonda" Scout: InnerScout<()>, stop {}
}

/// Searches for nodes until the result is stopped or dropped. `what` names roles, such as `router|peer` (default: all). Raises
/// ZError.
#[pyfunction]
#[pyo3(signature = (handler=None, what=None, config=None))]
pub fn scout(
    py: Python<'_>,
    handler: Option<&Bound<'_, PyAny>>,
    what: Option<&Bound<'_, PyAny>>,
    config: Option<&Config>,
) -> PyResult<Scout> {
    let what = match what.filter(|what| !what.is_none()) {
        None => Roles::empty().router().peer().client(),
        Some(what) => roles(what)?,
    };
    let config = config.map(|config| config.0.clone()).unwrap_or_default();
    let plan = plan::<InnerHello>(py, handler)?;
    let builder = zonda::scout(what, config).with(plan.sink);
    let scout = gate::detached(py, || builder.wait()).or_raise()?;
    Ok(Scout::new(scout, plan.handler))
}
