//! A team's vaults in one shared collection: what a keeper publishes, and how members read it.
//!
//! The engine at the other end is Qdrant, asked by REST. It stores and searches; everything else is decided here. A
//! [`point`] is a chunk with all that a hit needs, so that a reader needs no copy of the notes. The [`Keeper`] of a vault
//! writes revisions by a plan ([`Publisher`]) that does no I/O; a [`Reader`] sees a revision whole or not at all; and
//! [`verify`] compares all of it. A context that one member has paid for is [`Offered`] to the others.
//!
//! # How a note is replaced
//!
//! The points of a revision are written first, with a number above that of the vault's own point: nobody looks at
//! them. Then that number is raised, which is one point and so one moment, and is not done for a keeper from whom another
//! has taken the vault. Then older points of these notes are deleted. A reader takes points up to the number that it
//! knows, and of each note the highest; if the number is another one afterwards, it looks again. So no clock is asked,
//! and nothing is half there, whatever dies when.

pub mod collection;
mod contexts;
mod failure;
mod ids;
mod keeper;
mod nodes;
pub mod point;
mod publish;
mod rarities;
mod read;
mod server;
#[cfg(test)]
mod testing;
pub mod verify;

pub use collection::{Described, Quantisation, VaultState};
pub use contexts::Offered;
pub use failure::{Failure, Kind};
pub use keeper::{Done, Identity, Keeper, Source};
pub use point::Document;
pub use publish::{Effect, Event, Publisher};
pub use read::{Answer, Asked, Condition, Found, Reader};
pub use server::{Collection, Info};
