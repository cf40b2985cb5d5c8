//! (being written)
pub mod bind;
pub mod frame;
pub mod locate;
pub mod params;
pub mod proto;
