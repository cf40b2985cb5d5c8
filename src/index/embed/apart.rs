//! The vector of an input for models that add up the vectors of tokens: text, context, and the questions and terms
//! beside it are embedded separately and added with fixed weights, so that none drowns the others. In one sum, the
//! context would hardly count beside a long chunk, and a short chunk hardly beside its context. Pure.

use super::{Input, Vector};

/// Weight of a context's vector relative to that of the text that it situates. Of .2, .4, .6 and .8, all within .005
/// nDCG@10 of each other on two sets, this one gave the fewest failures at 20.
pub(super) const CONTEXT: f32 = 0.6;

/// Weight of the vector of questions and terms beside a context. Half of the context's, without a measurement: models
/// write more of them, and what they add is further from the text.
pub(super) const EXPANSION: f32 = 0.3;

/// The vector of an input. `embed` gives the vector of a text, which has length 1 or is zero.
pub fn embed_apart<V: AsRef<[f32]> + AsMut<[f32]>>(input: &Input, embed: impl Fn(&str) -> V) -> Vector {
    Apart { embed, others: [None, None] }.of(input)
}

/// The vectors of several inputs. A context or expansion that neighbours share, as the windows of a chunk do, is
/// embedded once.
pub fn embed_all_apart<V: AsRef<[f32]> + AsMut<[f32]>>(inputs: &[&Input], embed: impl Fn(&str) -> V) -> Vec<Vector> {
    let mut apart = Apart { embed, others: [None, None] };
    inputs.iter().map(|input| apart.of(input)).collect()
}

/// Embeds inputs one after the other.
struct Apart<'a, V, E> {
    embed: E,
    /// The context and the expansion that were embedded last.
    others: [Option<(&'a str, V)>; 2],
}

impl<'a, V: AsRef<[f32]> + AsMut<[f32]>, E: Fn(&str) -> V> Apart<'a, V, E> {
    fn of(&mut self, input: &'a Input) -> Vector {
        let (Some(context), Some(text)) = (input.text.get(..input.context), input.text.get(input.context..)) else {
            return Vector::quantized((self.embed)(&input.text).as_ref());
        };
        let mut sum = (self.embed)(text);
        let others = [(CONTEXT, context), (EXPANSION, input.expansion.as_str())];
        let mut apart = false;
        for ((weight, other), last) in others.into_iter().zip(&mut self.others) {
            if other.is_empty() {
                continue;
            }
            let known = last.take().filter(|(known, _)| *known == other);
            let (_, vector) = last.insert(known.unwrap_or_else(|| (other, (self.embed)(other))));
            for (x, of_other) in sum.as_mut().iter_mut().zip(vector.as_ref()) {
                *x += weight * of_other;
            }
            apart = true;
        }
        if apart {
            normalise(sum.as_mut());
        }
        Vector::quantized(sum.as_ref())
    }
}

/// Scales to length 1; the zero vector stays zero.
pub(super) fn normalise(x: &mut [f32]) {
    let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        for x in x {
            *x /= norm;
        }
    }
}
