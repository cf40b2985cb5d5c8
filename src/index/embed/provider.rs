//! Who makes vectors. Pure.

/// Who makes vectors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "lowercase")]
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
    /// Its name in the configuration, in `status` and in identities.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether vectors are asked for over HTTP.
    pub fn is_remote(self) -> bool {
        !matches!(self, EmbedProvider::Builtin | EmbedProvider::Static | EmbedProvider::Transformer)
    }
}
