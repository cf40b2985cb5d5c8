//! What a hub says of a model as a whole, before a file of it is asked for.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder, Url};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::Hub;
use super::id::{ModelId, is_word};

/// Longest licence that is shown: they are short words such as `apache-2.0`.
const MOST_LICENCE: usize = 60;

/// Longest answer that is read: one of a model with thousands of files has a megabyte.
const MOST_BYTES: usize = 16 << 20;

/// What a hub says of a model; what it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// The commit that the revision stands for now.
    pub commit: Option<String>,
    /// As its makers name it.
    pub licence: Option<String>,
    /// Bytes of its files, by their paths.
    pub sizes: BTreeMap<String, u64>,
}

/// The hub's description, as far as it concerns us.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    sha: Option<String>,
    card_data: serde_json::Value,
    tags: Vec<String>,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
}

impl Hub {
    /// What the hub says of a model. It never fails: a mirror may say nothing, and a real error is reported when the
    /// first file is requested.
    pub async fn info(&self, id: &ModelId) -> ModelInfo {
        let answer = self.describe(id).await.unwrap_or_default();
        let said = answer.card_data.get("license").cloned().unwrap_or_default();
        // One licence, or a list of the licences of the model's parts.
        let named = match &said {
            serde_json::Value::Array(all) => {
                Some(all.iter().filter_map(|one| one.as_str()).collect::<Vec<_>>().join(", "))
            }
            one => one.as_str().map(str::to_owned),
        };
        let tagged = || answer.tags.iter().find_map(|tag| tag.strip_prefix("license:")).map(str::to_owned);
        let licence = named.filter(|name| !name.is_empty()).or_else(tagged);
        let plain = |name: String| name.chars().filter(|c| !c.is_control()).take(MOST_LICENCE).collect();
        ModelInfo {
            licence: licence.map(plain),
            sizes: answer.siblings.into_iter().filter_map(|file| Some((file.rfilename, file.size?))).collect(),
            commit: answer.sha.filter(|commit| is_word(commit)),
        }
    }

    async fn describe(&self, id: &ModelId) -> Option<Answer> {
        let base = self.endpoint.as_str().trim_end_matches('/');
        let (org, name, revision) = (id.org(), id.name(), id.revision());
        let address = format!("{base}/api/models/{org}/{name}/revision/{revision}?blobs=true");
        let mut response = self.request(Method::GET, Url::parse(&address).ok()?).send().await.ok()?;
        if !response.status().is_success() {
            return None;
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return None;
            }
        }
        serde_json::from_slice(&bytes).ok()
    }

    /// A request to the hub, or to the address that it redirects to. Only the hub gets the token.
    pub(super) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let token = self.token.as_ref().filter(|_| url.origin() == self.endpoint.origin());
        let request = self.client.request(method, url);
        match token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }
}
