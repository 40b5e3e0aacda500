// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declared entities: their common part.

use parking_lot::RwLock;
use pyo3::prelude::*;

use crate::error::zerror;
use crate::gate;

/// Calls the setters of the arguments that are given.
macro_rules! given {
    ($builder:ident; $($setter:ident),+ $(,)?) => {$(
        if let Some(value) = $setter {
            $builder = $builder.$setter(value);
        }
    )+};
}

/// An entity until it is undeclared.
pub struct Slot<T: Send> {
    entity: RwLock<Option<T>>,
    /// Set if the entity outlives its object.
    background: bool,
}

impl<T: Send + Sync> Slot<T> {
    /// Holds an entity.
    pub fn new(entity: T) -> Slot<T> {
        Slot::lasting(entity, false)
    }

    /// Holds an entity that may outlive its object, until its session ends.
    pub fn lasting(entity: T, background: bool) -> Slot<T> {
        Slot {
            entity: RwLock::new(Some(entity)),
            background,
        }
    }

    /// Reads the entity. Raises ZError once it is undeclared.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> PyResult<R> {
        let entity = self.entity.read_recursive();
        entity
            .as_ref()
            .map(read)
            .ok_or_else(|| zerror("it is undeclared"))
    }

    /// Takes the entity out, without the interpreter's lock, and hands it over.
    pub fn end(&self, py: Python<'_>, end: impl FnOnce(T) + Send) {
        gate::detached(py, || {
            let entity = self.entity.write().take();
            if let Some(entity) = entity {
                end(entity);
            }
        });
    }
}

impl<T: Send> Drop for Slot<T> {
    fn drop(&mut self) {
        let entity = self.entity.get_mut().take();
        match self.background {
            true => std::mem::forget(entity),
            false => gate::let_go(entity),
        }
    }
}

/// Defines the class of an entity with a handler.
macro_rules! entity {
    ($(#[$doc:meta])* $module:literal $name:ident: $inner:ty, $end:ident { $($more:tt)* }) => {
        $(#[$doc])*
        #[pyclass(module = $module, frozen)]
        pub struct $name {
            slot: $crate::entity::Slot<$inner>,
            handler: Py<PyAny>,
        }

        impl $name {
            /// Makes the object.
            pub fn new(inner: $inner, handler: Py<PyAny>) -> Self {
                $name::lasting(inner, handler, false)
            }

            /// Makes the object of an entity that may outlive it.
            pub fn lasting(inner: $inner, handler: Py<PyAny>, background: bool) -> Self {
                $name { slot: $crate::entity::Slot::lasting(inner, background), handler }
            }
        }

        #[pymethods]
        impl $name {
            #[classmethod]
            fn __class_getitem__(
                cls: &Bound<'_, pyo3::types::PyType>,
                args: &Bound<'_, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                $crate::handlers::generic(cls, args)
            }

            fn __enter__(slf: Py<Self>) -> Py<Self> {
                slf
            }

            #[pyo3(signature = (*_args, **_kwargs))]
            fn __exit__(
                &self,
                py: Python<'_>,
                _args: &Bound<'_, pyo3::types::PyTuple>,
                _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>,
            ) {
                self.$end(py);
            }

            /// Handler that the declaration was given or made; None for a callback.
            #[getter]
            fn handler(&self, py: Python<'_>) -> Py<PyAny> {
                self.handler.clone_ref(py)
            }

            /// Ends it: no value comes any more. Values that wait can still be taken.
            fn $end(&self, py: Python<'_>) {
                self.slot.end(py, $crate::entity::Finish::finish);
            }

            /// Takes the next value if there is one now, else returns None. Raises ZError at the end.
            fn try_recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.handler.call_method0(py, "try_recv")
            }

            /// Takes the next value; waits for it. Raises ZError at the end.
            fn recv(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.handler.call_method0(py, "recv")
            }

            fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
                self.handler.bind(py).try_iter()
            }

            fn __aiter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.handler.call_method0(py, "__aiter__")
            }

            fn __repr__(&self) -> String {
                format!("{}({})", stringify!($name), self.slot.read(|inner| format!("{inner:?}")).unwrap_or_default())
            }

            $($more)*
        }
    };
}

/// Defines the class of an entity without a handler.
macro_rules! declared {
    ($(#[$doc:meta])* $module:literal $name:ident: $inner:ty { $($more:tt)* }) => {
        $(#[$doc])*
        #[pyclass(module = $module, frozen)]
        pub struct $name(pub $crate::entity::Slot<$inner>);

        #[pymethods]
        impl $name {
            fn __enter__(slf: Py<Self>) -> Py<Self> {
                slf
            }

            #[pyo3(signature = (*_args, **_kwargs))]
            fn __exit__(
                &self,
                py: Python<'_>,
                _args: &Bound<'_, pyo3::types::PyTuple>,
                _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>,
            ) {
                self.undeclare(py);
            }

            /// Ends it.
            fn undeclare(&self, py: Python<'_>) {
                self.0.end(py, $crate::entity::Finish::finish);
            }

            $($more)*
        }
    };
}

/// Defines the class of a publisher.
macro_rules! publisher {
    ($(#[$doc:meta])* $module:literal $name:ident: $inner:ty { $($more:tt)* }) => {
        $crate::entity::declared! {
            $(#[$doc])* $module $name: $inner {
                #[getter]
                fn id(&self) -> PyResult<$crate::time::EntityGlobalId> {
                    self.0.read(|publisher| $crate::time::EntityGlobalId(publisher.id()))
                }

                #[getter]
                fn key_expr(&self) -> PyResult<$crate::keys::KeyExpr> {
                    self.0.read(|publisher| $crate::keys::KeyExpr(publisher.key_expr().clone()))
                }

                #[getter]
                fn encoding(&self) -> PyResult<$crate::encoding::Encoding> {
                    self.0.read(|publisher| $crate::encoding::Encoding(publisher.encoding().clone()))
                }

                #[getter]
                fn congestion_control(&self) -> PyResult<$crate::enums::CongestionControl> {
                    self.0.read(|publisher| publisher.congestion_control().into())
                }

                #[getter]
                fn priority(&self) -> PyResult<$crate::enums::Priority> {
                    self.0.read(|publisher| publisher.priority().into())
                }

                $($more)*
            }
        }
    };
}

/// End of an entity.
pub trait Finish {
    /// Ends it.
    fn finish(self);
}

/// Ends of entities that have a method for it.
macro_rules! finishes {
    ($($entity:ty: $end:ident),+ $(,)?) => {$(
        impl Finish for $entity {
            fn finish(self) {
                let _ = self.$end();
            }
        }
    )+};
}

finishes! {
    zonda::pubsub::Subscriber<()>: undeclare,
    zonda::query::Queryable<()>: undeclare,
    zonda::matching::MatchingListener<()>: undeclare,
    zonda::scouting::Scout<()>: stop,
    zonda::ext::AdvancedSubscriber<()>: undeclare,
    zonda::ext::SampleMissListener<()>: undeclare,
    zonda::session::EventsListener<()>: undeclare,
    zonda::pubsub::Publisher<'static>: undeclare,
    zonda::query::Querier<'static>: undeclare,
    zonda::liveliness::LivelinessToken: undeclare,
    zonda::ext::AdvancedPublisher<'static>: undeclare,
}

pub(crate) use {declared, entity, given, publisher};
