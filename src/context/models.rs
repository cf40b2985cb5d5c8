//! What is known about models: prices and what their interfaces take. A dated table (`models.toml`), which the
//! user's configuration overrides. Pure.

mod row;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::Table;

use row::Row;

use super::settings::{ModelOverride, Provider};

/// The table as compiled in, read once.
static MODELS: LazyLock<Result<Models, String>> = LazyLock::new(|| Models::read(include_str!("models.toml")));

/// Stands for the date of prices that the user wrote without one.
const CONFIGURED: &str = "configured";

/// How thinking is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// The model does not think unless asked to: nothing is sent.
    Omit,
    /// `thinking: {type: disabled}` and the lowest effort.
    Disable,
    /// `thinking: {type: between_tools}`.
    BetweenTools,
    /// It cannot be switched off.
    Always,
    /// OpenAI's `reasoning_effort: none`, or the lowest there is (the string to send).
    Effort(&'static str),
}

/// A model as its interface sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Provider it is asked at.
    pub provider: Provider,
    /// Its id as sent.
    pub id: String,
    /// Whether the table or the user knows it. If not, the fields below are careful guesses.
    pub known: bool,
    /// Whether it accepts sampling parameters.
    pub sampling: bool,
    /// How it is kept from thinking.
    pub thinking: Thinking,
    /// Name of the field that caps the answer, where the provider has several (`max_tokens`,
    /// `max_completion_tokens`); `None` leaves it to the dialect.
    pub output_cap: Option<String>,
    /// Whether a JSON schema can be enforced.
    pub json_schema: bool,
    /// Shortest prefix that the provider caches, tokens; `None`: it caches nothing, or by itself.
    pub min_cache_tokens: Option<u32>,
    /// Tokens of prompt and answer.
    pub context_size: u32,
    /// Tokens relative to the estimate of [`super::cost::estimate_tokens`].
    pub token_factor: f32,
    /// What it costs.
    pub price: Price,
}

/// The most tokens of a note that a model on this machine sees: without a graphics card, reading them takes a minute.
const READ_AT_HOME: u32 = 12_000;

impl Model {
    /// The most tokens that a prompt and its answer may have: what the model takes at its usual price.
    pub fn window(&self) -> u32 {
        let usual = match &self.price {
            Price::Tokens(Rates { above: Some((tokens, _)), .. }) => *tokens,
            _ => u32::MAX,
        };
        usual.min(self.context_size)
    }

    /// The most tokens of a note that the model sees, unless the user sets `most`.
    pub fn shown(&self, most: Option<u32>) -> u32 {
        let usual = if self.price == Price::Free { READ_AT_HOME } else { u32::MAX };
        most.unwrap_or(usual).min(self.window())
    }
}

/// What a model costs.
#[derive(Clone, Debug, PartialEq)]
pub enum Price {
    /// Unknown; it never counts as 0.
    Unknown,
    /// It runs on the user's own machine.
    Free,
    /// Per million tokens.
    Tokens(Rates),
}

/// Micro-dollars per million tokens (a dollar per million tokens is 1,000,000).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// When the prices were looked up, ISO; `configured` for prices that the user gave without a date.
    pub as_of: String,
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Put into the provider's cache.
    pub cache_write: u64,
    /// Read from it.
    pub cache_read: u64,
    /// What the batch interface costs, in percent of all that.
    pub batch_percent: u64,
    /// Other rates for prompts above so many tokens.
    pub above: Option<(u32, Box<Rates>)>,
}

impl Model {
    /// Collects what is known about a model of a provider: the user's overrides, then the table by exact id, then by
    /// longest beginning, then careful guesses. `local` says that the model's address is on this machine.
    ///
    /// Overrides are merged key by key; a longer beginning overrides a shorter one. A model on this machine is free,
    /// unless its id is that of a hosted model whose weights nobody has: then a proxy answers there that passes the
    /// bill on, and the table's price holds. The user can say `price = "free"`.
    ///
    /// # Errors
    /// What is wrong with an override, matching or not.
    pub fn find(provider: Provider, id: &str, local: bool, overrides: &[ModelOverride]) -> Result<Self, String> {
        let models = MODELS.as_ref().map_err(Clone::clone)?;
        let row = models.row(provider, id);
        let said = said(id, overrides)?;

        let known = row.is_some() || said.is_some() || matches!(provider, Provider::None | Provider::Template);
        let hosted = row.as_ref().is_some_and(|row| row.open != Some(true));
        let guesses = models.unknown(provider, local && row.is_none());
        let said = said.unwrap_or_default();
        let as_of = if said.has_price() { CONFIGURED } else { &models.as_of };
        let free = !said.has_price() && runs_here(provider, id, local, hosted);
        let row = said.over(row.unwrap_or_default()).over(guesses);

        let price = if free { Price::Free } else { row.price(as_of).map_err(|e| format!("models \"{id}\": {e}"))? };
        Ok(Model {
            provider,
            id: id.to_owned(),
            known,
            sampling: row.sampling.unwrap_or(false),
            thinking: row.thinking.unwrap_or(Thinking::Omit),
            output_cap: row.output_cap.filter(|name| !name.is_empty()),
            json_schema: row.json_schema.unwrap_or(false),
            min_cache_tokens: row.min_cache_tokens.filter(|tokens| *tokens > 0),
            context_size: row.context_size.unwrap_or(32_768),
            token_factor: row.token_factor.unwrap_or(1.3),
            price,
        })
    }
}

/// Whether the name of a model says that Ollama does not run it but passes it on to its makers' machines, whatever the
/// address and whichever interface asks for it.
pub fn is_passed_on(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    id.ends_with("-cloud") || id.ends_with(":cloud")
}

/// Whether the model's work costs nothing.
fn runs_here(provider: Provider, id: &str, local: bool, hosted: bool) -> bool {
    match provider {
        Provider::None | Provider::Template => true,
        Provider::Ollama => !is_passed_on(id),
        Provider::Anthropic | Provider::Bedrock | Provider::OpenAi => local && !hosted,
    }
}

/// What the user says about a model: all overrides that match it, merged into one row. The others are checked, too.
fn said(id: &str, overrides: &[ModelOverride]) -> Result<Option<Row>, String> {
    let mut matching = Vec::new();
    for said in overrides {
        let name = said.model.trim();
        let wrong = |what: String| format!("models \"{name}\": {what}");
        if name.is_empty() {
            return Err(wrong("the id of a model, or its beginning, is meant".to_owned()));
        }
        let table: Table = said.table.parse().map_err(|e: toml::de::Error| wrong(e.message().to_owned()))?;
        if let Some(key) = ["provider", "id", "open"].into_iter().find(|key| table.contains_key(*key)) {
            return Err(wrong(format!("{key}: cannot be overridden")));
        }
        let row = Row::read(table).map_err(wrong)?;
        if is_meant(id, name) || is_meant(bare(id), name) {
            matching.push((name.len(), row));
        }
    }
    matching.sort_by_key(|(length, _)| *length);
    Ok(matching.into_iter().map(|(_, row)| row).reduce(|below, row| row.over(below)))
}

/// The compiled-in table.
#[derive(Deserialize)]
struct Models {
    as_of: String,
    #[serde(rename = "model")]
    rows: Vec<Row>,
    unknown: HashMap<String, Row>,
    bedrock: Bedrock,
}

/// How Bedrock's ids and prices follow from Anthropic's.
#[derive(Deserialize)]
struct Bedrock {
    list_price: Vec<String>,
    regional: Vec<String>,
    regional_percent: u64,
    batch_percent: u64,
}

impl Models {
    fn read(text: &str) -> Result<Self, String> {
        let models: Models = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        for row in &models.rows {
            let id = row.id.as_ref().ok_or("id: missing")?;
            row.check().and_then(|()| row.price("")).map_err(|e| format!("{id}: {e}"))?;
        }
        Ok(models)
    }

    /// What the table says about a model.
    fn row(&self, provider: Provider, id: &str) -> Option<Row> {
        match provider {
            Provider::None | Provider::Template => None,
            Provider::Anthropic => self.named("anthropic", id),
            Provider::Ollama => self.named("ollama", id),
            Provider::Bedrock => self.at_bedrock(id),
            // Proxies offer Anthropic's models through OpenAI's interface. Price, size and what the model itself
            // refuses stay the same; the proxy decides how a request is spelled.
            Provider::OpenAi => self.named("openai", id).or_else(|| {
                let row = self.named("anthropic", id)?;
                Some(Row { thinking: None, min_cache_tokens: None, json_schema: None, ..row })
            }),
        }
    }

    fn named(&self, provider: &str, id: &str) -> Option<Row> {
        let rows = || self.rows.iter().filter(|row| row.provider.as_deref() == Some(provider));
        let find = |id: &str| {
            let of = |row: &&Row| row.id.as_deref().is_some_and(|known| is_version_of(id, known));
            rows().filter(of).max_by_key(|row| row.id.as_ref().map_or(0, String::len)).cloned()
        };
        find(id).or_else(|| find(bare(id)))
    }

    fn at_bedrock(&self, id: &str) -> Option<Row> {
        let id = bare(id);
        let without = |names: &[String]| names.iter().find_map(|name| id.strip_prefix(name.as_str()));
        let (name, percent) = match without(&self.bedrock.list_price) {
            Some(rest) => (rest, 100),
            // An id without a place is answered in the region asked, at the price of the regional ids.
            None => (without(&self.bedrock.regional).unwrap_or(id), self.bedrock.regional_percent),
        };
        let row = self.named("anthropic", name.strip_prefix("anthropic.")?)?.at_percent(percent);
        Some(Row { batch_percent: Some(self.bedrock.batch_percent), ..row })
    }

    /// The careful guesses for a provider.
    fn unknown(&self, provider: Provider, local: bool) -> Row {
        let named = |name: &str| self.unknown.get(name).cloned();
        let guesses = named(match provider {
            Provider::Anthropic | Provider::Bedrock => "anthropic",
            Provider::OpenAi | Provider::None | Provider::Template => "openai",
            Provider::Ollama => "ollama",
        });
        let guesses = guesses.unwrap_or_default();
        let here = named("local").filter(|_| local && provider == Provider::OpenAi);
        here.map_or(guesses.clone(), |here| here.over(guesses))
    }
}

/// An id without the prefixes of proxies and ARNs.
fn bare(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Whether an override of this name is about a model: `gpt-5` is not about `gpt-5-pro`, `gpt-` is.
fn is_meant(id: &str, name: &str) -> bool {
    is_version_of(id, name) || (name.ends_with('-') && id.starts_with(name))
}

/// Whether an id is a known one, perhaps followed by a date, a version or a tag.
fn is_version_of(id: &str, known: &str) -> bool {
    let Some(rest) = id.strip_prefix(known) else { return false };
    if rest.is_empty() || rest.starts_with(':') {
        return true;
    }
    let Some(rest) = rest.strip_prefix(['-', '@']) else { return false };
    let first = rest.split(['-', ':', '@']).next().unwrap_or_default();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // Four digits are a year or a month: fewer are the number of another model.
    let dated = digits(first) && first.len() >= 4;
    dated || ["latest", "preview"].contains(&first) || first.strip_prefix('v').is_some_and(digits)
}
