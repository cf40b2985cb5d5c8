//! What others reach on the sets, measured elsewhere on whole documents: BM25 (Lucene's variant, k1 1.2,
//! b 0.75, stemmed), MiniLM (all-MiniLM-L6-v2, best window of 180 words), RRF (both, k 60). `cc` is the
//! built-in model fused with BM25 by the convex combination with equal weights (its own BM25 is unstemmed);
//! only its nDCG was recorded.

use index::eval::QueryMeasures;

/// Set, system, Recall@5, Recall@20, MRR@10, nDCG@10.
const MEASURED: &[(&str, &str, f64, f64, f64, f64)] = &[
    ("dendron_site", "BM25", 0.617, 0.747, 0.483, 0.532),
    ("dendron_site", "MiniLM", 0.556, 0.739, 0.405, 0.465),
    ("dendron_site", "RRF", 0.625, 0.743, 0.497, 0.544),
    ("ms_playbook", "BM25", 0.759, 0.914, 0.582, 0.638),
    ("ms_playbook", "MiniLM", 0.776, 0.931, 0.594, 0.659),
    ("ms_playbook", "RRF", 0.793, 0.914, 0.614, 0.679),
    ("powershell", "BM25", 0.717, 0.884, 0.528, 0.590),
    ("powershell", "MiniLM", 0.855, 0.931, 0.680, 0.734),
    ("powershell", "RRF", 0.832, 0.925, 0.697, 0.743),
    ("eips", "BM25", 0.955, 0.973, 0.899, 0.915),
    ("eips", "MiniLM", 0.957, 0.976, 0.842, 0.874),
    ("eips", "RRF", 0.968, 0.987, 0.921, 0.936),
    ("anthropic_docs", "BM25", 0.726, 0.865, 0.775, 0.701),
    ("anthropic_docs", "MiniLM", 0.726, 0.880, 0.783, 0.723),
    ("anthropic_docs", "RRF", 0.784, 0.890, 0.841, 0.767),
    ("anthropic_docs_ctx", "BM25", 0.742, 0.880, 0.823, 0.736),
    ("anthropic_docs_ctx", "MiniLM", 0.762, 0.895, 0.811, 0.761),
    ("anthropic_docs_ctx", "RRF", 0.815, 0.915, 0.855, 0.797),
    ("xquad_en", "BM25", 0.989, 0.995, 0.958, 0.967),
    ("xquad_en", "MiniLM", 0.982, 0.994, 0.931, 0.946),
    ("xquad_en", "RRF", 0.992, 0.998, 0.968, 0.975),
    ("xquad_de", "BM25", 0.974, 0.987, 0.930, 0.943),
    ("xquad_de", "MiniLM", 0.775, 0.881, 0.635, 0.682),
    ("xquad_de", "RRF", 0.913, 0.971, 0.831, 0.862),
    ("xquad_zh", "BM25", 0.991, 0.994, 0.954, 0.963),
    ("xquad_zh", "MiniLM", 0.299, 0.492, 0.201, 0.246),
    ("xquad_zh", "RRF", 0.728, 0.929, 0.530, 0.606),
    ("xquad_ru", "BM25", 0.982, 0.992, 0.942, 0.954),
    ("xquad_ru", "MiniLM", 0.216, 0.400, 0.151, 0.186),
    ("xquad_ru", "RRF", 0.565, 0.759, 0.433, 0.495),
    ("xquad_hi", "BM25", 0.806, 0.892, 0.715, 0.747),
    ("xquad_hi", "MiniLM", 0.033, 0.199, 0.026, 0.042),
    ("xquad_hi", "RRF", 0.381, 0.583, 0.254, 0.314),
    ("chunking_evaluation_dev", "BM25", 0.936, 0.993, 0.840, 0.866),
    ("chunking_evaluation_dev", "MiniLM", 0.870, 0.989, 0.695, 0.749),
    ("chunking_evaluation_dev", "RRF", 0.930, 1.000, 0.798, 0.837),
    ("dendron_site", "cc", f64::NAN, f64::NAN, f64::NAN, 0.556),
    ("ms_playbook", "cc", f64::NAN, f64::NAN, f64::NAN, 0.730),
    ("powershell", "cc", f64::NAN, f64::NAN, f64::NAN, 0.700),
    ("eips", "cc", f64::NAN, f64::NAN, f64::NAN, 0.934),
    ("anthropic_docs", "cc", f64::NAN, f64::NAN, f64::NAN, 0.776),
    ("anthropic_docs_ctx", "cc", f64::NAN, f64::NAN, f64::NAN, 0.793),
    ("chunking_evaluation_dev", "cc", f64::NAN, f64::NAN, f64::NAN, 0.861),
    ("xquad_en", "cc", f64::NAN, f64::NAN, f64::NAN, 0.975),
    ("xquad_de", "cc", f64::NAN, f64::NAN, f64::NAN, 0.929),
    ("xquad_zh", "cc", f64::NAN, f64::NAN, f64::NAN, 0.952),
    ("xquad_ru", "cc", f64::NAN, f64::NAN, f64::NAN, 0.872),
    ("xquad_hi", "cc", f64::NAN, f64::NAN, f64::NAN, 0.781),
];

/// The systems measured on a set.
pub(crate) fn of(set: &str) -> impl Iterator<Item = (&'static str, QueryMeasures)> {
    MEASURED.iter().filter(move |row| row.0 == set).map(|&(_, system, recall_5, recall_20, mrr_10, ndcg_10)| {
        (system, QueryMeasures { recall_5, recall_20, mrr_10, ndcg_10 })
    })
}
