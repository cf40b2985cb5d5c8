//! The reference part of `PROTOCOL.md`: every method and every type, as the [table](crate::table) and the types' own
//! documentation have them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::envelope::ErrorKind;
use crate::schema::schema;
use crate::table::{COMMON_ERRORS, Deadline, Method, Pool};

/// What stands before the reference in the file.
const BEGIN: &str = "<!-- The reference is made from the table of methods; `UPDATE_REFERENCE=1 cargo test --lib the_reference_is_current` renews it. -->\n";

/// What stands behind it.
const END: &str = "<!-- The end of the reference. -->\n";

/// The reference, in Markdown.
fn reference() -> String {
    let schema = schema();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    let mut page = Page { definitions: &definitions, named: BTreeSet::new(), text: String::new() };
    let common = kinds(COMMON_ERRORS);
    page.line(&format!("Any method may be answered with {common}; further errors are said with each."));
    for &method in Method::ALL {
        page.method(method, &schema["methods"][method.name()]);
    }
    page.line("\n### Notifications");
    page.notifications(&schema["notifications"]);
    page.line("\n### Types");
    page.types();
    page.text
}

/// What it is a queue for, in a few words.
fn waits_for(pool: Pool) -> &'static str {
    match pool {
        Pool::Query => "a processor",
        Pool::Scan => "a processor, and all texts",
        Pool::Look => "a look at what is there",
        Pool::Engine => "the engine",
        Pool::Model => "the model",
        Pool::Assisted => "a reranker or other words",
        Pool::Fresh => "what was just saved",
        Pool::Graph => "the graph",
        Pool::Watch => "a watch",
    }
}

/// How long a call may take, in a few words.
fn may_take(deadline: Deadline) -> &'static str {
    match deadline {
        Deadline::Daemon => "the daemon's (10 s)",
        Deadline::Job => "the daemon's until the job has begun, none for its end",
        Deadline::Provider => "the provider's",
    }
}

struct Page<'a> {
    definitions: &'a Map<String, Value>,
    /// Types that were referred to.
    named: BTreeSet<String>,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn method(&mut self, method: Method, described: &Value) {
        let (params, result) = (&described["params"], &described["result"]);
        self.line(&format!("\n#### `{}`\n\n{}", method.name(), method.about()));
        let errors = match method.errors() {
            [] => String::new(),
            errors => format!(" Errors: {}.", kinds(errors)),
        };
        let (pool, deadline) = (waits_for(method.pool()), may_take(method.deadline()));
        self.line(&format!("Waits for {pool}. Deadline: {deadline}.{errors}"));
        let params = self.resolved(params).clone();
        let result = self.kind(result);
        if members(&params).next().is_some() {
            self.line("");
            self.members(&params, "parameter");
        }
        self.line(&format!("\nGives {result}."));
    }

    /// What the daemon says unasked. A notification of several kinds tells them apart by its `kind`.
    fn notifications(&mut self, notifications: &Value) {
        for (name, schema) in notifications.as_object().into_iter().flatten() {
            let kinds = alternatives(schema).map_or(std::slice::from_ref(schema), Vec::as_slice);
            for schema in kinds {
                let kind = schema["properties"]["kind"]["const"].as_str();
                let of_kind = kind.map_or_else(String::new, |kind| format!(" of the kind `{kind}`"));
                let about = sentence(if kind.is_some() { schema } else { self.resolved(schema) });
                self.line(&format!("\n#### `{name}`{of_kind}\n\n{about}"));
                if let Some(of) = kind.and(named(schema)) {
                    self.named.insert(of.to_owned());
                    self.line(&format!("It has the members of `{of}`, and its `kind`."));
                    continue;
                }
                self.line("");
                let members = self.resolved(schema).clone();
                self.members(&members, "member");
            }
        }
    }

    /// The types that were referred to, and those that they refer to.
    fn types(&mut self) {
        let mut done = BTreeSet::new();
        while let Some(name) = self.named.difference(&done).next().cloned() {
            done.insert(name.clone());
            let Some(schema) = self.definitions.get(&name).cloned() else { continue };
            self.line(&format!("\n#### {name}\n\n{}", sentence(&schema)));
            if members(&schema).next().is_some() {
                self.line("");
                self.members(&schema, "member");
            } else if let Some(alternatives) = alternatives(&schema) {
                self.line("");
                for alternative in alternatives {
                    let (kind, about) = (self.kind(alternative), sentence(alternative));
                    self.line(&format!("- {kind}: {about}"));
                }
            }
        }
    }

    /// A table of the members of an object.
    fn members(&mut self, schema: &Value, what: &str) {
        self.line(&format!("| {what} | type | |\n|---|---|---|"));
        let required: Vec<&str> = strings(&schema["required"]).collect();
        let members: Vec<(String, Value)> =
            members(schema).map(|(name, member)| (name.clone(), member.clone())).collect();
        for (name, member) in &members {
            let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
            let kind = self.kind(member);
            self.line(&format!("| `{name}` | {kind}{optional} | {} |", sentence(member).replace('|', "\\|")));
        }
    }

    /// What a value may be, in a few words.
    fn kind(&mut self, schema: &Value) -> String {
        if let Some(name) = named(schema) {
            self.named.insert(name.to_owned());
            return format!("`{name}`");
        }
        if let Some(constant) = schema.get("const") {
            return format!("`{constant}`");
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
        }
        if let Some(alternatives) = alternatives(schema) {
            let kinds: Vec<String> = alternatives.iter().map(|one| self.kind(one)).collect();
            return kinds.join(" or ");
        }
        let kinds: Vec<String> = match &schema["type"] {
            Value::String(kind) => vec![self.plain(kind, schema)],
            Value::Array(kinds) => {
                kinds.iter().filter_map(Value::as_str).map(|kind| self.plain(kind, schema)).collect()
            }
            _ => vec!["anything".to_owned()],
        };
        kinds.join(" or ")
    }

    fn plain(&mut self, kind: &str, schema: &Value) -> String {
        match kind {
            "array" => {
                if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
                    let items: Vec<String> = items.iter().map(|item| self.kind(item)).collect();
                    return format!("[{}]", items.join(", "));
                }
                format!("list of {}", self.kind(&schema["items"]))
            }
            "object" => match schema.get("additionalProperties") {
                Some(values) if values.is_object() => format!("object of {}", self.kind(values)),
                _ => {
                    let members: Vec<(String, Value)> =
                        members(schema).map(|(name, member)| (name.clone(), member.clone())).collect();
                    let members: Vec<String> =
                        members.iter().map(|(name, member)| format!("`{name}`: {}", self.kind(member))).collect();
                    if members.is_empty() { "object".to_owned() } else { format!("{{{}}}", members.join(", ")) }
                }
            },
            kind => kind.to_owned(),
        }
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        named(schema).and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }
}

fn kinds(errors: &[ErrorKind]) -> String {
    let mut list = String::new();
    for (i, kind) in errors.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(list, "{comma}`{}`", kind.name());
    }
    list
}

fn named(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The documentation of a schema, as one line.
fn sentence(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

mod tests;
