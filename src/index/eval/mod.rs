//! How well a vault is found, and whether a change makes it better. Pure: texts in, figures and a page out.
//!
//! [`make()`] takes queries from what people wrote about their own notes and masks it where it stood; [`set`] reads a
//! set in BEIR's form. [`docs`] cuts and situates notes as the engine does, with the contexts that the caller chooses.
//! [`metrics`] judges one ranking, [`stats`] says how sure a mean or a difference is, [`report`] puts together what was
//! measured, and [`page()`] shows it.

pub mod docs;
mod make;
mod mask;
pub mod metrics;
mod page;
mod plot;
pub mod report;
mod rng;
pub mod set;
pub mod stats;
mod words;

pub use make::{MadeQueries, MadeQuery, MakeSettings, QueryKind, Resolve, make};
pub use metrics::{QueryMeasures, Relevance};
pub use page::page;
pub use report::{Comparison, QueryRun, Report, System};
pub use rng::Rng;
pub use set::{BadSet, Set};
