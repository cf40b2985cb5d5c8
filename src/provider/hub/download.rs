//! One file of a model: what the hub says of it, its bytes in as many attempts as it takes, and the check.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LOCATION, RANGE};
use reqwest::{Method, Response, StatusCode, Url};

use super::id::{ModelId, is_word};
use super::{Hub, HubError, OnProgress, at};
use crate::transport::why;

/// Attempts in a row without a new byte after which a download is given up.
const TRIES: u32 = 4;

/// Most redirects of a request: the hub redirects to a store of large files, perhaps by way of a mirror.
const REDIRECTS: usize = 5;

/// Where the files of a model come from and go to.
pub(super) struct Source<'a> {
    pub(super) hub: &'a Hub,
    /// As it was given.
    pub(super) model: &'a str,
    pub(super) id: &'a ModelId,
    /// What is asked for: the id's revision, and the commit once the hub has named it, so that all files are of the
    /// same one.
    pub(super) revision: String,
    pub(super) folder: &'a Path,
    pub(super) progress: OnProgress<'a>,
}

/// What the hub says of a file before it sends it.
#[derive(Debug, Default)]
struct Facts {
    /// Changes with the content.
    etag: Option<String>,
    size: Option<u64>,
    commit: Option<String>,
}

impl Facts {
    /// Adds what the headers of an answer say. The first answer wins: it is the hub's, later ones are a store's.
    fn add(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let etag = |name: &str| Some(text(name)?.trim_start_matches("W/").trim_matches('"').to_owned());
        self.etag = self.etag.take().or_else(|| etag("x-linked-etag"));
        self.size = self.size.or_else(|| text("x-linked-size")?.parse().ok());
        self.commit = self.commit.take().or_else(|| text("x-repo-commit")).filter(|commit| is_word(commit));
    }

    /// Adds what only the last answer says, the one with the file itself.
    fn finish(&mut self, headers: &HeaderMap) {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let etag = || Some(text(ETAG)?.trim_start_matches("W/").trim_matches('"').to_owned());
        self.etag = self.etag.take().or_else(etag);
        self.size = self.size.or_else(|| text(CONTENT_LENGTH)?.parse().ok());
    }

    /// The SHA-256 of the content. The hub gives it as the etag of large files; the etag of small files is a hash of
    /// another kind.
    fn sha256(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.len() == 64 && etag.bytes().all(|b| b.is_ascii_hexdigit()))
    }
}

/// Why there is no answer.
enum Failed {
    /// Trying again may help.
    Broken(String),
    /// Trying again will not help.
    Never(HubError),
}

impl Source<'_> {
    /// Fetches a file that a model must have.
    pub(super) async fn must_fetch(&mut self, file: &str) -> Result<(), HubError> {
        if self.fetch(file).await? { Ok(()) } else { Err(self.refused(file, StatusCode::NOT_FOUND, NO_FILE)) }
    }

    /// Fetches a file, unless it is here already. `false` if the model does not have it.
    pub(super) async fn fetch(&mut self, file: &str) -> Result<bool, HubError> {
        let target = self.folder.join(file);
        if target.is_file() {
            return Ok(true);
        }
        let mut tries = 0;
        let facts = loop {
            match self.facts(file).await {
                Ok(facts) => break facts,
                Err(failed) => self.wait(file, &mut tries, failed).await?,
            }
        };
        let Some(facts) = facts else { return Ok(false) };
        if let Some(commit) = &facts.commit {
            self.revision.clone_from(commit);
        }
        if let Some(parent) = target.parent() {
            at(parent, std::fs::create_dir_all(parent))?;
        }
        // Named after its content, so that the download of another version is not resumed.
        let tag: String = facts.etag.iter().flat_map(|etag| etag.chars()).filter(char::is_ascii_alphanumeric).collect();
        let partial = self.folder.join(format!("{file}.{}.part", &tag[..tag.len().min(40)]));
        if tag.is_empty() {
            at(&partial, File::create(&partial))?;
        }
        self.body(file, &facts, &partial).await?;
        self.check(file, &facts, &partial).await?;
        at(&target, std::fs::rename(&partial, &target))?;
        Ok(true)
    }

    /// Waits before another attempt; an error if there is to be none.
    async fn wait(&self, file: &str, tries: &mut u32, failed: Failed) -> Result<(), HubError> {
        let problem = match failed {
            Failed::Never(error) => return Err(error),
            Failed::Broken(problem) => problem,
        };
        *tries += 1;
        if *tries >= TRIES {
            let (model, file, host) = (self.model.to_owned(), file.to_owned(), self.hub.host());
            return Err(HubError::Network { model, file, host, problem });
        }
        tokio::time::sleep(self.hub.pause * 2_u32.pow(*tries - 1)).await;
        Ok(())
    }

    /// What the hub says of a file; `None` if the model does not have it.
    async fn facts(&self, file: &str) -> Result<Option<Facts>, Failed> {
        let mut facts = Facts::default();
        let seen = |facts: &mut Facts, response: &Response| {
            facts.add(response.headers());
            // The store need not be asked: it may not even allow this method.
            facts.etag.is_none()
        };
        let response = self.send(Method::HEAD, file, 0, &mut |response| seen(&mut facts, response)).await?;
        match response.status() {
            status if status.is_success() => facts.finish(response.headers()),
            status if status.is_redirection() => {}
            StatusCode::NOT_FOUND if lacks_only_this(&response) => return Ok(None),
            status => return Err(self.refusal(file, status)),
        }
        Ok(Some(facts))
    }

    /// Downloads the bytes of a file, from where an earlier attempt ended.
    async fn body(&self, file: &str, facts: &Facts, partial: &Path) -> Result<(), HubError> {
        let mut tries = 0;
        loop {
            let before = length(partial);
            if facts.size.is_some_and(|size| before == size) && before > 0 {
                return Ok(());
            }
            let Err(failed) = self.some(file, facts, partial).await else { return Ok(()) };
            if length(partial) > before {
                tries = 0;
            }
            self.wait(file, &mut tries, failed).await?;
        }
    }

    /// Makes one attempt at the bytes that are missing.
    async fn some(&self, file: &str, facts: &Facts, partial: &Path) -> Result<(), Failed> {
        let never = |result: std::io::Result<()>| at(partial, result).map_err(Failed::Never);
        let here = length(partial);
        let mut response = self.send(Method::GET, file, here, &mut |_| true).await?;
        let mut options = File::options();
        let mut here = match response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(&response, here) => here,
            StatusCode::OK => 0,
            // The server has nothing beyond what is here, or sends another range than was asked for: start over.
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                never(std::fs::remove_file(partial))?;
                return Err(Failed::Broken("the server sends another part than it was asked for".to_owned()));
            }
            status => return Err(self.refusal(file, status)),
        };
        let opened = options.create(true).write(true).append(here > 0).truncate(here == 0).open(partial);
        let mut out = at(partial, opened).map_err(Failed::Never)?;
        loop {
            (self.progress)(file, here, facts.size);
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    never(out.write_all(&chunk))?;
                    here += chunk.len() as u64;
                    if facts.size.is_some_and(|size| here > size) {
                        // `check` will say what is wrong.
                        return Ok(());
                    }
                }
                Ok(None) if facts.size.is_some_and(|size| here < size) => {
                    return Err(Failed::Broken("the connection ended too early".to_owned()));
                }
                Ok(None) => return never(out.sync_all()),
                Err(error) => return Err(Failed::Broken(why(&error))),
            }
        }
    }

    /// Whether a file is what the hub says; removes it if not.
    async fn check(&self, file: &str, facts: &Facts, partial: &Path) -> Result<(), HubError> {
        let size = length(partial);
        let problem = if let Some(expected) = facts.size.filter(|expected| *expected != size) {
            Some(format!("it has {size} bytes instead of {expected}"))
        } else if let Some(expected) = facts.sha256() {
            let path = partial.to_owned();
            let hash = tokio::task::spawn_blocking(move || crate::models::sha256(&path)).await;
            let hash = at(partial, hash.unwrap_or_else(|error| Err(std::io::Error::other(error))))?;
            let same = hash.eq_ignore_ascii_case(expected);
            (!same).then(|| format!("its sha256 is {hash} instead of {expected}"))
        } else {
            None
        };
        let Some(problem) = problem else { return Ok(()) };
        at(partial, std::fs::remove_file(partial))?;
        Err(HubError::Wrong { model: self.model.to_owned(), file: file.to_owned(), host: self.hub.host(), problem })
    }

    /// Sends a request and follows redirects as long as `go_on` says so. The token goes to the hub only.
    async fn send(
        &self,
        method: Method,
        file: &str,
        from: u64,
        go_on: &mut (dyn FnMut(&Response) -> bool + Send),
    ) -> Result<Response, Failed> {
        let hub = self.hub;
        let (org, name) = (self.id.org(), self.id.name());
        let base = hub.endpoint.as_str().trim_end_matches('/');
        let no_address = |_| Failed::Broken("the hub sends to an address that is none".to_owned());
        let mut url =
            Url::parse(&format!("{base}/{org}/{name}/resolve/{}/{file}", self.revision)).map_err(no_address)?;
        for _ in 0..=REDIRECTS {
            // Compressed, a file has another length and cannot be fetched in ranges.
            let mut request = hub.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            if from > 0 {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            let response = request.send().await.map_err(|error| Failed::Broken(why(&error)))?;
            let status = response.status();
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(Failed::Broken(format!("the server is in trouble ({})", status.as_u16())));
            }
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let Some(location) = location.filter(|_| status.is_redirection()) else {
                go_on(&response);
                return Ok(response);
            };
            let next = url.join(location).map_err(no_address)?;
            if !go_on(&response) {
                return Ok(response);
            }
            url = next;
        }
        Err(Failed::Broken("the hub sends from one address to the next".to_owned()))
    }

    fn refusal(&self, file: &str, status: StatusCode) -> Failed {
        Failed::Never(self.refused(
            file,
            status,
            match status.as_u16() {
                401 => "there is no such model, or it is not for everybody: check the name, and set HF_TOKEN if it is right",
                403 => "your token (HF_TOKEN) may not read it: accept the model's terms on its page, or use another token",
                404 => "there is no such model, or no such revision: check the name",
                _ => "check HF_ENDPOINT, and whether a proxy stands in between",
            },
        ))
    }

    fn refused(&self, file: &str, status: StatusCode, hint: &'static str) -> HubError {
        HubError::Refused {
            model: self.model.to_owned(),
            file: file.to_owned(),
            host: self.hub.host(),
            status: status.as_u16(),
            hint,
        }
    }
}

/// What to do about a model that lacks a file.
const NO_FILE: &str = "the model is not there in the format that is needed (one model.safetensors, and a tokenizer.json): \
                       check the name, or choose another model";

/// Whether a 404 is about the file, and not about the model or its revision.
fn lacks_only_this(response: &Response) -> bool {
    let code = response.headers().get("x-error-code").and_then(|code| code.to_str().ok());
    // Servers other than the hub do not send the code.
    code.is_none_or(|code| code == "EntryNotFound")
}

/// Whether a part of a file begins where it was asked for.
fn starts_at(response: &Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.trim_start_matches("bytes ").starts_with(&format!("{from}-")))
}

/// 0 if the file is not there.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}
