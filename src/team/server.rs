//! A collection at a server: the few requests that are needed, typed.

use std::sync::Arc;
use std::time::Duration;

use provider::rest::{Method, RestServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::collection::{self, DENSE, Described, Quantisation, VaultState, WHAT, WORDS};
use crate::failure::{Failure, Kind};
use crate::ids;
use crate::nodes::Nodes;

/// Timeout of requests that nobody waits for at a terminal.
const PATIENCE: Duration = Duration::from_secs(60);
/// Points per page when a collection is read through.
const PAGE: usize = 4096;
/// The oldest version that supports all that is used: vectors of several windows, and indexes of payloads in files.
const OLDEST: (u32, u32) = (1, 11);
/// How single points are written: one node puts these writes in order. With `medium` it is the first that is alive;
/// with `strong` it is always the same one, and a keeper could not go on while that one is down.
const IN_ORDER: &str = "?wait=true&ordering=medium";

/// A collection. Cheap to clone; clones ask the same node first.
#[derive(Clone, Debug)]
pub struct Collection {
    nodes: Arc<Nodes>,
    name: String,
    patience: Duration,
}

/// What a server says of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Dimensions of its vectors, if they are of the kind that we make.
    pub dimensions: Option<usize>,
    /// Whether it keeps terms, and counts how rare they are.
    pub has_words: bool,
    /// Points of any kind.
    pub points: u64,
}

/// A point as it is read: its id and the parts that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) id: String,
    pub(crate) score: f32,
    pub(crate) payload: Value,
    pub(crate) vector: Value,
}

impl Collection {
    /// The collection of this name. Opens no connection yet.
    pub fn new(server: RestServer, name: &str) -> Self {
        Collection::replicated(server, Vec::new(), name)
    }

    /// The same in a cluster, whose `others` are asked if `server` does not answer.
    pub fn replicated(server: RestServer, others: Vec<RestServer>, name: &str) -> Self {
        Collection { nodes: Arc::new(Nodes::new(server, others)), name: name.to_owned(), patience: PATIENCE }
    }

    /// The same with `patience` as the timeout of every request.
    #[must_use]
    pub fn within(&self, patience: Duration) -> Self {
        Collection { patience, ..self.clone() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Host that answered last, and port if it is not the scheme's default.
    pub fn host(&self) -> &str {
        self.nodes.current().host()
    }

    /// Hosts that notes and queries go to, in words; `None` for addresses of this machine.
    pub fn leaves_to(&self) -> Option<String> {
        let hosts = self.nodes.leave_to();
        (!hosts.is_empty()).then(|| hosts.join(" or "))
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let path = format!("/collections/{}{path}", self.name);
        let answer = self.nodes.ask((method, &path), body, self.patience, &self.name).await?;
        let mut answer: Value = serde_json::from_slice(&answer).map_err(|_| self.odd())?;
        Ok(answer["result"].take())
    }

    /// The failure for an answer that cannot be understood.
    fn odd(&self) -> Failure {
        let message = format!("{} does not answer as Qdrant does; is `url` that of its REST interface?", self.host());
        Failure::new(Kind::Other, message)
    }

    /// The server's version.
    ///
    /// # Errors
    /// It is too old, or no such server.
    pub async fn version(&self) -> Result<String, Failure> {
        let answer = self.nodes.ask((Method::GET, "/"), Vec::new(), self.patience, &self.name).await?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| self.odd())?;
        let version = answer["version"].as_str().ok_or_else(|| self.odd())?;
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if (major, minor) < OLDEST {
            let (host, (major, minor)) = (self.host(), OLDEST);
            let message = format!("{host} runs Qdrant {version}, and {major}.{minor} or later is needed");
            return Err(Failure::new(Kind::Other, message));
        }
        Ok(version.to_owned())
    }

    /// What the server says of it; `None` if it is not there.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn inspect(&self) -> Result<Option<Info>, Failure> {
        let answer = match self.ask(Method::GET, "", None).await {
            Err(Failure { kind: Kind::Missing, .. }) => return Ok(None),
            answer => answer?,
        };
        let params = &answer["config"]["params"];
        let dense = &params["vectors"][DENSE];
        let ours = dense["distance"] == "Dot" && dense["multivector_config"]["comparator"] == "max_sim";
        Ok(Some(Info {
            dimensions: dense["size"].as_u64().filter(|_| ours).map(|size| size as usize),
            has_words: params["sparse_vectors"][WORDS]["modifier"] == "idf",
            points: answer["points_count"].as_u64().unwrap_or(0),
        }))
    }

    /// The same of a collection that situated made, or began to make.
    ///
    /// # Errors
    /// It was not made by situated; or see [`Failure`].
    pub async fn own(&self) -> Result<Option<Info>, Failure> {
        let Some(info) = self.inspect().await? else { return Ok(None) };
        let of_ours = info.dimensions.is_some() && info.has_words;
        if of_ours && (info.points == 0 || self.described().await?.is_some()) {
            Ok(Some(info))
        } else {
            Err(self.strange())
        }
    }

    /// Creates it if it does not exist, else checks it; then creates the indexes of its payloads.
    ///
    /// # Errors
    /// It exists, but was not made by situated or is for other vectors; or see [`Failure`].
    pub async fn ensure(&self, dimensions: usize, quantisation: Quantisation) -> Result<(), Failure> {
        match self.inspect().await? {
            Some(info) => self.check(&info, dimensions)?,
            None => drop(self.ask(Method::PUT, "", Some(collection::made_with(dimensions, quantisation))).await?),
        }
        for field in collection::fields() {
            self.ask(Method::PUT, "/index?wait=true", Some(field)).await?;
        }
        Ok(())
    }

    /// Refuses a collection that was not made by us, or was made for other vectors.
    fn check(&self, info: &Info, dimensions: usize) -> Result<(), Failure> {
        let (name, other) = (&self.name, |message: String| Err(Failure::new(Kind::Other, message)));
        let Some(theirs) = info.dimensions.filter(|_| info.has_words) else {
            return Err(self.strange());
        };
        if theirs != dimensions {
            return other(format!(
                "the collection `{name}` has vectors of {theirs} dimensions, and the embedder here makes {dimensions}; take \
                 the same embedder, or another collection"
            ));
        }
        Ok(())
    }

    fn strange(&self) -> Failure {
        let message = format!("the collection `{}` was not made by situated; name another one in `[team]`", self.name);
        Failure::new(Kind::Other, message)
    }

    /// Deletes it with all that is in it.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn drop_all(&self) -> Result<(), Failure> {
        self.ask(Method::DELETE, "", None).await.map(drop)
    }

    /// What its own point says; `None` if it has none.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn described(&self) -> Result<Option<Described>, Failure> {
        self.own_point(ids::of_collection()).await
    }

    /// Writes its own point.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn describe(&self, described: &Described) -> Result<(), Failure> {
        self.put_own(ids::of_collection(), "collection", json!(described)).await
    }

    /// The state of a vault; `None` if it was never published.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn vault(&self, vault: &str) -> Result<Option<VaultState>, Failure> {
        self.own_point(ids::of_vault(vault)).await
    }

    /// Writes the state of a vault.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn put_vault(&self, state: &VaultState) -> Result<(), Failure> {
        self.put_own(ids::of_vault(&state.vault), "vault", json!(state)).await
    }

    /// Raises the number up to which a vault's points are visible, if `keeper` still has the vault: if the request
    /// arrives late, when another keeper has taken the vault over, it changes nothing.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn raise(&self, vault: &str, keeper: &str, revision: u64) -> Result<(), Failure> {
        let still = [
            json!({"has_id": [ids::of_vault(vault)]}),
            is("keeper", keeper),
            json!({"key": "revision", "range": {"lte": revision}}),
        ];
        let change = json!({"payload": {"revision": revision}, "filter": {"must": still}});
        self.ask(Method::POST, &format!("/points/payload{IN_ORDER}"), Some(change)).await.map(drop)
    }

    /// The states of all of its vaults.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn vaults(&self) -> Result<Vec<VaultState>, Failure> {
        let filter = json!({"must": [is(WHAT, "vault")]});
        let found = self.look_through(&filter, json!(true)).await?;
        let read = |read: Read| serde_json::from_value(read.payload).map_err(|_| self.foreign());
        found.into_iter().map(read).collect()
    }

    fn foreign(&self) -> Failure {
        let message =
            format!("a point of the collection `{}` at {} is not as situated writes it", self.name, self.host());
        Failure::new(Kind::Other, message)
    }

    async fn own_point<T: DeserializeOwned>(&self, id: String) -> Result<Option<T>, Failure> {
        let asked = json!({"ids": [id], "with_payload": true});
        let found = self.ask(Method::POST, "/points", Some(asked)).await?;
        let payload = found.get(0).map(|point| point["payload"].clone());
        payload.map(|payload| serde_json::from_value(payload).map_err(|_| self.foreign())).transpose()
    }

    async fn put_own(&self, id: String, what: &str, mut payload: Value) -> Result<(), Failure> {
        payload[WHAT] = what.into();
        let point = json!({"points": [{"id": id, "vector": {}, "payload": payload}]});
        self.ask(Method::PUT, &format!("/points{IN_ORDER}"), Some(point)).await.map(drop)
    }

    /// Writes points; returns when the server has applied the write.
    ///
    /// # Errors
    /// See [`Failure`]; some of them may have been written all the same.
    pub async fn put(&self, points: Vec<Value>) -> Result<(), Failure> {
        self.ask(Method::PUT, "/points?wait=true", Some(json!({"points": points}))).await.map(drop)
    }

    /// Deletes the points that meet a filter.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn delete(&self, filter: &Value) -> Result<(), Failure> {
        self.ask(Method::POST, "/points/delete?wait=true", Some(json!({"filter": filter}))).await.map(drop)
    }

    /// Deletes points by their ids.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn delete_ids(&self, ids: &[String]) -> Result<(), Failure> {
        let ids: Vec<Value> = ids.iter().map(|id| id_of(id)).collect();
        self.ask(Method::POST, "/points/delete?wait=true", Some(json!({"points": ids}))).await.map(drop)
    }

    /// How many points meet a filter, exactly.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn count(&self, filter: &Value) -> Result<u64, Failure> {
        let answer = self.ask(Method::POST, "/points/count", Some(json!({"filter": filter, "exact": true}))).await?;
        answer["count"].as_u64().ok_or_else(|| self.odd())
    }

    /// All points that meet a filter, with the parts of their payloads that `with` names.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn look_through(&self, filter: &Value, with: Value) -> Result<Vec<Read>, Failure> {
        let mut all = Vec::new();
        self.look_at_each(filter, with, |read| all.push(read)).await?;
        Ok(all)
    }

    /// Like [`Collection::look_through`], but hands each point to `look` instead of holding them all in memory.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn look_at_each(
        &self,
        filter: &Value,
        with: Value,
        mut look: impl FnMut(Read),
    ) -> Result<(), Failure> {
        let mut offset = Value::Null;
        loop {
            let asked = json!({"filter": filter, "limit": PAGE, "with_payload": with, "offset": offset});
            let mut page = self.ask(Method::POST, "/points/scroll", Some(asked)).await?;
            read(page["points"].take()).into_iter().for_each(&mut look);
            offset = page["next_page_offset"].take();
            if offset.is_null() {
                return Ok(());
            }
        }
    }

    /// Several searches at once; the points of each, best first.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn search(&self, searches: &[Value]) -> Result<Vec<Vec<Read>>, Failure> {
        let answer = self.ask(Method::POST, "/points/query/batch", Some(json!({"searches": searches}))).await?;
        let Value::Array(answers) = answer else { return Err(self.odd()) };
        Ok(answers.into_iter().map(|mut answer| read(answer["points"].take())).collect())
    }
}

/// A condition: that a field has this value.
pub(crate) fn is(field: &str, value: &str) -> Value {
    json!({"key": field, "match": {"value": value}})
}

/// An id in the form that requests need: points that others made may have numbers as ids.
pub(crate) fn id_of(id: &str) -> Value {
    id.parse::<u64>().map_or_else(|_| json!(id), |number| json!(number))
}

fn read(points: Value) -> Vec<Read> {
    let Value::Array(points) = points else { return Vec::new() };
    let read = |mut point: Value| Read {
        id: point["id"].as_str().map_or_else(|| point["id"].to_string(), str::to_owned),
        score: point["score"].as_f64().unwrap_or(0.0) as f32,
        payload: point["payload"].take(),
        vector: point["vector"].take(),
    };
    points.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
