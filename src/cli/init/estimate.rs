//! What a model would take for vaults that nobody has indexed yet: their notes are read and cut here, and nothing is sent.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use context::cost::{Asking, LATIN, NoteSize, estimate, estimate_tokens};
use context::models::Model;
use context::settings::ContextConfig;
use note::chunk::ChunkRules;
use protocol::contexts::Estimate;
use vault::policy::Policy;
use vault::settings::VaultConfig;

/// How long notes are read; the rest is assumed to be like what was read.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a configuration's model would take for all notes of these vaults; `None` if nobody can tell.
pub(super) fn of_vaults(vaults: &[VaultConfig], config: &ContextConfig) -> Option<Estimate> {
    let model: Model = provider::model(config).ok()?;
    let until = Instant::now() + PATIENCE;
    let (mut read, mut left) = (Vec::new(), Vec::new());
    let (mut text, mut bytes) = (0, 0);
    for vault in vaults {
        let policy = Policy::new(&vault.path, vault).ok()?;
        let walk = vault::walk::walk(&vault.path, &policy, None, &AtomicBool::new(false)).ok()?;
        // Models write for notes, not for documents.
        let notes = walk.files.into_iter().filter(|(path, _)| !note::Format::is_converted(path.as_str()));
        for (path, stat) in notes {
            if Instant::now() >= until {
                left.push(stat.size);
                continue;
            }
            let Ok((body, _)) = vault::read::read(&vault.path, &path, vault.max_note_bytes) else { continue };
            (text, bytes) =
                (text + u64::from(estimate_tokens(&String::from_utf8_lossy(&body), 1.0)), bytes + stat.size);
            let parsed = note::parse(&path, &body, &note::NoteRules::default());
            let chunks = index::chunk::cut(&parsed, ChunkRules::default().of(parsed.kind.as_deref()));
            if chunks.len() as u64 >= u64::from(config.llm_min_chunks) {
                let wanted = chunks.iter().map(|chunk| chunk.span.len() as u64).collect();
                read.push(NoteSize { bytes: stat.size, chunks_in_note: chunks.len() as u32, wanted });
            }
        }
    }
    let asking = Asking { model: &model, config, tokens_per_byte: ratio(text, bytes), batch: false };
    let sum = estimate(read.iter().cloned(), &asking);
    Some(with_rest(sum, read.iter().map(|note| note.bytes).sum(), left.iter().sum()))
}

/// Tokens per byte.
fn ratio(tokens: u64, bytes: u64) -> f64 {
    if bytes == 0 { LATIN } else { tokens as f64 / bytes as f64 }
}

/// Scales an estimate for `read` bytes to include the `left` bytes that were not read.
fn with_rest(mut sum: Estimate, read: u64, left: u64) -> Estimate {
    let scale = |n: u64| (u128::from(n) * u128::from(read + left)).div_ceil(u128::from(read.max(1))) as u64;
    if left > 0 {
        let Estimate { notes, chunks, calls, tokens_in, tokens_cached, tokens_out, .. } = &mut sum;
        for n in [notes, chunks, calls, tokens_in, tokens_cached, tokens_out] {
            *n = scale(*n);
        }
        sum.micro_dollars = sum.micro_dollars.map(scale);
        sum.minutes *= (read + left) as f64 / read.max(1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests;
