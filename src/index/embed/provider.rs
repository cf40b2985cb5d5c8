//! Who makes vectors. Pure.

/// Who makes vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EmbedProvider {
    /// The model compiled in.
    #[default]
    Builtin,
    /// A static table of the user's, from a folder in the form of model2vec.
    Static,
    /// A sentence-transformers model in this process.
    Transformer,
    /// Ollama's native interface.
    Ollama,
    /// OpenAI's embeddings, or a server that speaks them.
    OpenAi,
    /// Voyage AI; its `voyage-context-…` models see a note's chunks together.
    Voyage,
    /// Cohere.
    Cohere,
}

impl EmbedProvider {
    /// All of them, in the order in which the configuration names them.
    pub const ALL: [EmbedProvider; 7] = [
        EmbedProvider::Builtin,
        EmbedProvider::Static,
        EmbedProvider::Transformer,
        EmbedProvider::Ollama,
        EmbedProvider::OpenAi,
        EmbedProvider::Voyage,
        EmbedProvider::Cohere,
    ];

    /// Its name in the configuration, in `status` and in identities.
    pub fn name(self) -> &'static str {
        match self {
            EmbedProvider::Builtin => "builtin",
            EmbedProvider::Static => "static",
            EmbedProvider::Transformer => "transformer",
            EmbedProvider::Ollama => "ollama",
            EmbedProvider::OpenAi => "openai",
            EmbedProvider::Voyage => "voyage",
            EmbedProvider::Cohere => "cohere",
        }
    }

    /// Whether vectors are asked for over HTTP.
    pub fn is_remote(self) -> bool {
        !matches!(self, EmbedProvider::Builtin | EmbedProvider::Static | EmbedProvider::Transformer)
    }
}
