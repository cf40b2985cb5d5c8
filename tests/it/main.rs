//! One binary for all tests that need more than one module: specifications, real sockets, real files, real
//! kills. On Unix; on Windows the parts' own tests run.

#![cfg(unix)]
// Tests of what Linux alone has are left out elsewhere; what they alone use would be warned of.
#![cfg_attr(not(target_os = "linux"), allow(unused_imports, unused_mut, dead_code))]

mod activation;
mod ask;
mod assistant;
mod bad;
mod batches;
mod budgets;
mod clients;
mod commands;
mod consent;
mod contexts;
mod crash;
mod damage;
mod days;
mod doctor;
mod documents;
mod draining;
mod editors;
mod embedders;
mod eval;
mod expansion;
mod folders;
mod fuzz;
mod generations;
mod graph;
mod grep;
mod hits;
mod hostile;
mod http;
mod hub;
mod install;
mod keepers;
mod life;
mod live;
mod looks;
mod mcp;
mod manners;
mod mcp_hostile;
mod mcp_http;
mod mcp_install;
mod model;
mod models;
mod names;
mod off;
mod outside;
mod own_contexts;
mod own_files;
mod paid;
mod private;
mod protocol;
mod readme;
mod requests;
mod rerank;
mod reranker;
mod saves;
mod screen;
mod service;
mod shell;
mod small_disk;
mod spec;
mod specification;
mod spending;
mod storm;
mod table;
#[allow(dead_code, reason = "unit tests use the rest")]
mod tables;
mod strangers;
mod support;
mod team;
mod terminal;
mod tiny;
mod tidy;
mod words;
mod upgrades;
mod vanished;
mod vault_command;
mod vaults;
mod vectors;
mod watching;
mod windows;
mod writer;
