//! Models that run in this process: `models`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use provider::models::ModelKind;

/// `models`
#[derive(Debug, Args)]
pub(crate) struct ModelsCommand {
    /// What to do; lists them if absent
    #[command(subcommand)]
    pub command: Option<ModelsAction>,
}

/// What to do with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsAction {
    /// Download a model from a hub, or copy one from a folder; name it in the configuration after a yes
    Add(AddModel),
    /// List them: kind, size, licence, where each came from, what uses it
    List,
    /// Compare every file with what it was, open the models and ask each one thing; exit code 1 if anything is wrong
    Check {
        /// Only this one
        name: Option<String>,
    },
    /// Take one away; refused while the configuration names it
    Remove {
        /// Its name, as `list` has it
        name: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// `models add`
#[derive(Debug, Args)]
#[command(
    after_help = "From then on:  situated search --rerank \"…\"   (cross-encoder)\nA hub is that of HF_ENDPOINT, huggingface.co if unset; HF_TOKEN is for models\nthat are not for everybody.\nA search never downloads anything."
)]
pub(crate) struct AddModel {
    /// What it does: judge what a search finds, give texts their vectors, or give words theirs (model2vec)
    #[arg(value_enum)]
    pub kind: Kind,
    /// A hub's id, `org/name` or `org/name@revision`; or a folder, beginning with `/`, `./`, `../` or `~/`
    #[arg(value_name = "HUB-ID|FOLDER", value_hint = ValueHint::DirPath)]
    pub what: String,
    /// Name it in the configuration without asking
    #[arg(long, short, conflicts_with = "no_config")]
    pub yes: bool,
    /// Leave the configuration as it is, and print the lines to put there
    #[arg(long)]
    pub no_config: bool,
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Reads a query beside each passage, and puts the best in another order
    #[value(alias = "reranker")]
    CrossEncoder,
    /// Gives passages and queries their vectors, in place of the built-in model
    Embedder,
    /// A table with a vector for each token, in place of the built-in model
    Static,
}

impl From<Kind> for ModelKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::CrossEncoder => ModelKind::CrossEncoder,
            Kind::Embedder => ModelKind::Embedder,
            Kind::Static => ModelKind::Static,
        }
    }
}
