//! One row of the table of models: what it may say, how it is read from TOML, how rows are merged.

use std::fmt::Display;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::{Price, Rates, Thinking};

/// Dollars per million tokens above this are a slip of the decimal point.
const MOST_DOLLARS: f64 = 100_000.0;

/// Numbers of tokens above this are slips, too.
const MOST_TOKENS: u32 = 1 << 30;

/// Thinking levels that may be sent, as they are sent.
const EFFORTS: [&str; 5] = ["none", "minimal", "low", "medium", "high"];

/// What a row says; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Row {
    pub(super) provider: Option<String>,
    pub(super) id: Option<String>,
    pub(super) price: Option<Named>,
    #[serde(deserialize_with = "day")]
    pub(super) as_of: Option<String>,
    pub(super) input: Option<MicroDollars>,
    pub(super) output: Option<MicroDollars>,
    pub(super) cache_write: Option<MicroDollars>,
    pub(super) cache_read: Option<MicroDollars>,
    pub(super) batch_percent: Option<u64>,
    pub(super) above: Option<Above>,
    pub(super) sampling: Option<bool>,
    #[serde(deserialize_with = "thinking")]
    pub(super) thinking: Option<Thinking>,
    pub(super) output_cap: Option<String>,
    pub(super) json_schema: Option<bool>,
    pub(super) min_cache_tokens: Option<u32>,
    pub(super) context_size: Option<u32>,
    pub(super) token_factor: Option<f32>,
    pub(super) open: Option<bool>,
}

/// Rates for prompts of more than so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Above {
    tokens: u32,
    input: Option<MicroDollars>,
    output: Option<MicroDollars>,
    cache_write: Option<MicroDollars>,
    cache_read: Option<MicroDollars>,
}

impl Above {
    fn prices(&self) -> Prices {
        [self.input, self.output, self.cache_write, self.cache_read]
    }

    fn over(self, below: Self) -> Self {
        Above {
            tokens: self.tokens,
            input: self.input.or(below.input),
            output: self.output.or(below.output),
            cache_write: self.cache_write.or(below.cache_write),
            cache_read: self.cache_read.or(below.cache_read),
        }
    }
}

/// A price that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Named {
    Free,
    Unknown,
}

/// Millionths of a dollar per million tokens; written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct MicroDollars(u64);

/// Prices per token: read, written, put into the cache, read from it.
type Prices = [Option<MicroDollars>; 4];

impl TryFrom<f64> for MicroDollars {
    type Error = String;

    /// With no rounding except that of binary fractions.
    fn try_from(dollars: f64) -> Result<Self, String> {
        if !(0.0..=MOST_DOLLARS).contains(&dollars) {
            return Err(format!("dollars per million tokens are meant, from 0 to {MOST_DOLLARS}; this is {dollars}"));
        }
        let micro = (dollars * 1e6).round();
        // A decimal fraction with six digits comes out within a hair of a whole number; anything else has more.
        if (dollars * 1e6 - micro).abs() > 1e-3 {
            return Err(format!("{dollars} is finer than a millionth of a dollar"));
        }
        Ok(MicroDollars(micro as u64))
    }
}

fn thinking<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Thinking>, D::Error> {
    let word = String::deserialize(deserializer)?;
    Ok(Some(match word.as_str() {
        "omit" => Thinking::Omit,
        "disable" => Thinking::Disable,
        "between_tools" => Thinking::BetweenTools,
        "always" => Thinking::Always,
        _ => {
            let level =
                word.strip_prefix("effort:").and_then(|level| EFFORTS.into_iter().find(|known| *known == level));
            let meant = || format!("omit, disable, between_tools, always or effort:{} is meant", EFFORTS.join("|"));
            Thinking::Effort(level.ok_or_else(|| D::Error::custom(meant()))?)
        }
    }))
}

/// A date; TOML has a type for it, and a text is as natural.
fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Datetime(date) => date.to_string(),
        Value::String(text) => text,
        _ => String::new(),
    };
    let valid = text.parse::<jiff::civil::Date>().is_ok();
    if valid { Ok(Some(text)) } else { Err(D::Error::custom("a date like 2026-11-12 is meant")) }
}

impl Row {
    /// Reads a row.
    ///
    /// # Errors
    /// Names the key, and what is wrong with it.
    pub(super) fn read(table: Table) -> Result<Self, String> {
        let row: Row = table.try_into().map_err(|error: toml::de::Error| told(&error.to_string()))?;
        row.check().map(|()| row)
    }

    /// # Errors
    /// As [`Row::read`]: a number that cannot be, or prices that exclude each other.
    pub(super) fn check(&self) -> Result<(), String> {
        within("batch_percent", self.batch_percent, 1, 1000)?;
        within("above.tokens", self.above.map(|above| above.tokens), 0, MOST_TOKENS)?;
        within("min_cache_tokens", self.min_cache_tokens, 0, MOST_TOKENS)?;
        within("context_size", self.context_size, 512, MOST_TOKENS)?;
        within("token_factor", self.token_factor, 0.1, 10.0)?;
        if self.price.is_some() && (self.has_rates() || self.above.is_some()) {
            return Err("price: stands beside input, output or the like; one of them is meant".to_owned());
        }
        Ok(())
    }

    /// Whether it says anything about what the model costs.
    pub(super) fn has_price(&self) -> bool {
        self.price.is_some() || self.has_rates()
    }

    fn has_rates(&self) -> bool {
        self.prices().iter().any(Option::is_some)
    }

    fn prices(&self) -> Prices {
        [self.input, self.output, self.cache_write, self.cache_read]
    }

    /// The row with its prices at `percent`, rounded up.
    pub(super) fn at_percent(mut self, percent: u64) -> Self {
        let own = [&mut self.input, &mut self.output, &mut self.cache_write, &mut self.cache_read];
        let above = self
            .above
            .iter_mut()
            .flat_map(|above| [&mut above.input, &mut above.output, &mut above.cache_write, &mut above.cache_read]);
        for MicroDollars(price) in own.into_iter().chain(above).flatten() {
            *price = price.saturating_mul(percent).div_ceil(100);
        }
        self
    }

    /// Merges this row over another, which fills in what this one does not say.
    pub(super) fn over(self, mut below: Self) -> Self {
        // A named price overrides rates, and rates override a named price.
        if self.price.is_some() {
            (below.input, below.output, below.cache_write, below.cache_read, below.above) = Default::default();
        } else if self.has_rates() {
            below.price = None;
        }
        Row {
            provider: self.provider.or(below.provider),
            id: self.id.or(below.id),
            price: self.price.or(below.price),
            as_of: self.as_of.or(below.as_of),
            input: self.input.or(below.input),
            output: self.output.or(below.output),
            cache_write: self.cache_write.or(below.cache_write),
            cache_read: self.cache_read.or(below.cache_read),
            batch_percent: self.batch_percent.or(below.batch_percent),
            above: match (self.above, below.above) {
                (Some(own), Some(below)) => Some(own.over(below)),
                (own, below) => own.or(below),
            },
            sampling: self.sampling.or(below.sampling),
            thinking: self.thinking.or(below.thinking),
            output_cap: self.output_cap.or(below.output_cap),
            json_schema: self.json_schema.or(below.json_schema),
            min_cache_tokens: self.min_cache_tokens.or(below.min_cache_tokens),
            context_size: self.context_size.or(below.context_size),
            token_factor: self.token_factor.or(below.token_factor),
            open: self.open.or(below.open),
        }
    }

    /// The price that the row gives. A missing cache price is that of input without a cache.
    ///
    /// # Errors
    /// One of `input` and `output` is missing.
    pub(super) fn price(&self, as_of: &str) -> Result<Price, String> {
        match self.price {
            Some(Named::Free) => return Ok(Price::Free),
            None if self.has_rates() => {}
            Some(Named::Unknown) | None => return Ok(Price::Unknown),
        }
        let as_of = self.as_of.as_deref().unwrap_or(as_of);
        let mut rates = self.rates(self.prices(), as_of)?;
        if let Some(above) = self.above.filter(|above| above.tokens > 0) {
            let prices = std::array::from_fn(|n| above.prices()[n].or(self.prices()[n]));
            rates.above = Some((above.tokens, Box::new(self.rates(prices, as_of)?)));
        }
        Ok(Price::Tokens(rates))
    }

    fn rates(&self, prices: Prices, as_of: &str) -> Result<Rates, String> {
        let [input, output, cache_write, cache_read] = prices.map(|price| price.map(|MicroDollars(micro)| micro));
        let input = input.ok_or("input: missing beside the other prices")?;
        let output = output.ok_or("output: missing beside the other prices")?;
        Ok(Rates {
            as_of: as_of.to_owned(),
            input,
            output,
            cache_write: cache_write.unwrap_or(input),
            cache_read: cache_read.unwrap_or(input),
            batch_percent: self.batch_percent.unwrap_or(100),
            above: None,
        })
    }
}

fn within<T: PartialOrd + Display>(key: &str, number: Option<T>, least: T, most: T) -> Result<(), String> {
    if number.is_none_or(|number| least <= number && number <= most) {
        return Ok(());
    }
    Err(format!("{key}: a number from {least} to {most} is meant"))
}

/// What an error of the reader says, the key first, of which it writes `in` which table it is behind that.
fn told(error: &str) -> String {
    let (what, place) = error.trim_end().split_once("\nin `").unwrap_or((error.trim_end(), ""));
    let place = place.trim_end_matches('`');
    let within = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    if let Some((key, keys)) =
        what.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected one of "))
    {
        return format!("{}: no such key; there are {}", within(key), keys.replace('`', ""));
    }
    if let Some(key) = what.strip_prefix("missing field `") {
        return format!("{}: missing", within(key.trim_end_matches('`')));
    }
    format!("{place}: {what}")
}
