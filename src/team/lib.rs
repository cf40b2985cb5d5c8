//! A team's vaults in one shared collection: what a keeper publishes, and how members read it.
//!
//! The server is Qdrant, asked over REST. It stores and searches; everything else is decided here. A [`point`] is a
//! chunk with all that a hit needs, so that a reader needs no copy of the notes. The [`Keeper`] of a vault writes
//! revisions by a plan ([`Publisher`]) that does no I/O; a [`Reader`] sees a revision whole or not at all; and
//! `verify` compares all of it. A context that one member has paid for is [`Offered`] to the others.
//!
//! # How a note is replaced
//!
//! The keeper first writes the points of a revision, with a number above that of the vault's own point, so that no
//! reader takes them. Then it raises that number: this changes one point and so is atomic, and it does nothing if
//! another keeper has taken the vault. Then it deletes older points of these notes. A reader takes points up to the
//! number that it knows, and of each note those with the highest; if the number has changed afterwards, it looks again.
//! So no clock is needed, and nobody sees half a revision, whichever process dies at whatever moment.

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
mod verify;
mod withdraw;

pub use collection::{Described, Quantisation, VaultState};
pub use contexts::Offered;
pub use failure::{Failure, Kind};
pub use keeper::{Done, Identity, Keeper, Source};
pub use point::Document;
pub use publish::{Effect, Event, Publisher};
pub use read::{Answer, Asked, Condition, Found, Reader};
pub use server::{Collection, Info};
