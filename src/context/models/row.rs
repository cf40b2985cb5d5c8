//! One row of the table of models: what it may say, how it is read from TOML, how rows are merged.

use serde::Deserialize;
use strum::EnumString;
use toml::{Table, Value};

use super::{Price, Rates, Thinking};

/// Dollars per million tokens above this are a slip of the decimal point.
const MOST_DOLLARS: f64 = 100_000.0;

/// The keys of a row, in the order in which `models.toml` explains them.
const KEYS: [&str; 18] = [
    "provider",
    "id",
    "price",
    "as_of",
    "input",
    "output",
    "cache_write",
    "cache_read",
    "batch_percent",
    "above",
    "sampling",
    "thinking",
    "output_cap",
    "json_schema",
    "min_cache_tokens",
    "context_size",
    "token_factor",
    "open",
];

/// Thinking levels that may be sent, as they are sent.
const EFFORTS: [&str; 5] = ["none", "minimal", "low", "medium", "high"];

/// What a row says; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub(super) struct Row {
    pub(super) provider: Option<String>,
    pub(super) id: Option<String>,
    pub(super) price: Option<Named>,
    pub(super) as_of: Option<String>,
    pub(super) tokens: TokenPrices,
    pub(super) batch_percent: Option<u64>,
    pub(super) above: Option<(u32, TokenPrices)>,
    pub(super) sampling: Option<bool>,
    pub(super) thinking: Option<Thinking>,
    pub(super) output_cap: Option<String>,
    pub(super) json_schema: Option<bool>,
    pub(super) min_cache_tokens: Option<u32>,
    pub(super) context_size: Option<u32>,
    pub(super) token_factor: Option<f32>,
    pub(super) open: Option<bool>,
}

/// A price that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Named {
    Free,
    Unknown,
}

/// Names of prices per token.
const PRICES: [&str; 4] = ["input", "output", "cache_write", "cache_read"];

/// Micro-dollars per million tokens, in the order of [`PRICES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenPrices([Option<u64>; 4]);

impl TokenPrices {
    fn over(self, below: Self) -> Self {
        TokenPrices(std::array::from_fn(|price| self.0[price].or(below.0[price])))
    }

    fn at_percent(self, percent: u64) -> Self {
        TokenPrices(self.0.map(|price| price.map(|p| p.saturating_mul(percent).div_ceil(100))))
    }

    fn is_empty(self) -> bool {
        self == TokenPrices::default()
    }

    /// Sets a price if the key is one.
    fn set(&mut self, key: &str, value: &Value) -> Option<Result<(), String>> {
        let price = PRICES.iter().position(|name| *name == key)?;
        Some(dollars(key, value).map(|micro| self.0[price] = Some(micro)))
    }
}

impl TryFrom<Table> for Row {
    type Error = String;

    /// Reads a row.
    ///
    /// # Errors
    /// Names the key, and what is wrong with it.
    fn try_from(table: Table) -> Result<Self, String> {
        let mut row = Row::default();
        for (key, value) in &table {
            if let Some(set) = row.tokens.set(key, value) {
                set?;
                continue;
            }
            match key.as_str() {
                "provider" => row.provider = Some(text(key, value)?),
                "id" => row.id = Some(text(key, value)?),
                "price" => row.price = Some(named(key, value)?),
                "as_of" => row.as_of = Some(date(key, value)?),
                "batch_percent" => row.batch_percent = Some(integer(key, value, 1, 1000)?),
                "above" => row.above = Some(above(key, value)?),
                "sampling" => row.sampling = Some(boolean(key, value)?),
                "thinking" => row.thinking = Some(thinking(key, value)?),
                "output_cap" => row.output_cap = Some(text(key, value)?),
                "json_schema" => row.json_schema = Some(boolean(key, value)?),
                "min_cache_tokens" => row.min_cache_tokens = Some(integer(key, value, 0, 1 << 30)? as u32),
                "context_size" => row.context_size = Some(integer(key, value, 512, 1 << 30)? as u32),
                "token_factor" => row.token_factor = Some(factor(key, value)?),
                "open" => row.open = Some(boolean(key, value)?),
                _ => return Err(format!("{key}: no such key; there are {}", KEYS.join(", "))),
            }
        }
        if row.price.is_some() && !(row.tokens.is_empty() && row.above.is_none()) {
            return Err("price: stands beside input, output or the like; one of them is meant".to_owned());
        }
        Ok(row)
    }
}

impl Row {
    /// Whether it says anything about what the model costs.
    pub(super) fn has_price(&self) -> bool {
        self.price.is_some() || !self.tokens.is_empty()
    }

    /// The row with its prices at `percent`, rounded up.
    pub(super) fn at_percent(mut self, percent: u64) -> Self {
        self.tokens = self.tokens.at_percent(percent);
        self.above = self.above.map(|(limit, tokens)| (limit, tokens.at_percent(percent)));
        self
    }

    /// Merges this row over another, which fills in what this one does not say.
    pub(super) fn over(self, below: Self) -> Self {
        // A named price overrides rates, and rates override a named price.
        let (price, tokens, above) = if self.price.is_some() {
            (self.price, self.tokens, self.above)
        } else {
            let above = match (self.above, below.above) {
                (Some((limit, over)), Some((_, under))) => Some((limit, over.over(under))),
                (over, under) => over.or(under),
            };
            (below.price.filter(|_| self.tokens.is_empty()), self.tokens.over(below.tokens), above)
        };
        Row {
            provider: self.provider.or(below.provider),
            id: self.id.or(below.id),
            price,
            as_of: self.as_of.or(below.as_of),
            tokens,
            batch_percent: self.batch_percent.or(below.batch_percent),
            above,
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
            Some(Named::Unknown) => return Ok(Price::Unknown),
            None if self.tokens.is_empty() => return Ok(Price::Unknown),
            None => {}
        }
        let as_of = self.as_of.as_deref().unwrap_or(as_of);
        let mut rates = self.rates(self.tokens, as_of)?;
        if let Some((limit, tokens)) = self.above.filter(|(limit, _)| *limit > 0) {
            rates.above = Some((limit, Box::new(self.rates(tokens.over(self.tokens), as_of)?)));
        }
        Ok(Price::Tokens(rates))
    }

    fn rates(&self, tokens: TokenPrices, as_of: &str) -> Result<Rates, String> {
        let [input, output, cache_write, cache_read] = tokens.0;
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

fn text(key: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{key}: a text is meant, this is {}", kind(value)))
}

fn boolean(key: &str, value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{key}: true or false is meant, this is {}", kind(value)))
}

fn integer(key: &str, value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let number = value.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("{key}: a whole number from {least} to {most} is meant, this is {}", shown(value)))
}

fn factor(key: &str, value: &Value) -> Result<f32, String> {
    let number = number(value).filter(|n| (0.1..=10.0).contains(n));
    number.map(|n| n as f32).ok_or_else(|| format!("{key}: a number from 0.1 to 10 is meant, this is {}", shown(value)))
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

/// Dollars per million tokens as micro-dollars, with no rounding except that of binary fractions.
fn dollars(key: &str, value: &Value) -> Result<u64, String> {
    let dollars = number(value).filter(|n| (0.0..=MOST_DOLLARS).contains(n));
    let dollars = dollars.ok_or_else(|| {
        format!("{key}: dollars per million tokens are meant, from 0 to {MOST_DOLLARS}; this is {}", shown(value))
    })?;
    let micro = (dollars * 1e6).round();
    // A decimal fraction with six digits comes out within a hair of a whole number; anything else has more.
    if (dollars * 1e6 - micro).abs() > 1e-3 {
        return Err(format!("{key}: {dollars} is finer than a millionth of a dollar"));
    }
    Ok(micro as u64)
}

fn named(key: &str, value: &Value) -> Result<Named, String> {
    let named = value.as_str().and_then(|word| word.parse().ok());
    named.ok_or_else(|| format!("{key}: \"free\" or \"unknown\" is meant, this is {}", shown(value)))
}

fn date(key: &str, value: &Value) -> Result<String, String> {
    // TOML has a type for dates; a text is as natural here.
    let text = match value {
        Value::Datetime(date) => date.to_string(),
        other => text(key, other)?,
    };
    let valid = text.parse::<jiff::civil::Date>().is_ok();
    if valid { Ok(text) } else { Err(format!("{key}: a date like 2026-11-12 is meant")) }
}

fn thinking(key: &str, value: &Value) -> Result<Thinking, String> {
    let word = value.as_str().unwrap_or_default();
    match word {
        "omit" => Ok(Thinking::Omit),
        "disable" => Ok(Thinking::Disable),
        "between_tools" => Ok(Thinking::BetweenTools),
        "always" => Ok(Thinking::Always),
        _ => {
            let effort = word.strip_prefix("effort:").and_then(|level| EFFORTS.into_iter().find(|e| *e == level));
            effort.map(Thinking::Effort).ok_or_else(|| {
                let levels = EFFORTS.join("|");
                format!(
                    "{key}: omit, disable, between_tools, always or effort:{levels} is meant, this is {}",
                    shown(value)
                )
            })
        }
    }
}

fn above(key: &str, value: &Value) -> Result<(u32, TokenPrices), String> {
    let table = value.as_table().ok_or_else(|| format!("{key}: a table is meant, this is {}", kind(value)))?;
    let mut limit = None;
    let mut prices = TokenPrices::default();
    for (inner, value) in table {
        let name = format!("{key}.{inner}");
        match prices.set(inner, value) {
            Some(set) => set.map_err(|e| format!("{key}.{e}"))?,
            None if inner == "tokens" => limit = Some(integer(&name, value, 0, 1 << 30)? as u32),
            None => {
                return Err(format!("{name}: no such key; there are tokens, input, output, cache_write, cache_read"));
            }
        }
    }
    let limit = limit.ok_or_else(|| format!("{key}.tokens: missing"))?;
    Ok((limit, prices))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// A value for a message, if it is short.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Table(_) => kind(value).to_owned(),
        Value::String(text) if text.len() > 40 => "a long text".to_owned(),
        other => other.to_string(),
    }
}
