//! Tests of the table of models.

use super::super::settings::ContextConfig;
use super::*;

fn find(provider: Provider, id: &str) -> Model {
    Model::find(provider, id, false, &[]).unwrap()
}

fn rates(model: &Model) -> &Rates {
    match &model.price {
        Price::Tokens(rates) => rates,
        other => panic!("{} has no rates but {other:?}", model.id),
    }
}

fn said(model: &str, table: &str) -> ModelOverride {
    ModelOverride { model: model.to_owned(), table: table.to_owned() }
}

fn wrong(table: &str) -> String {
    Model::find(Provider::OpenAi, "other", false, &[said("mine", table)]).unwrap_err()
}

#[test]
fn the_table_reads_and_every_row_is_found_by_its_own_id() {
    let models = MODELS.as_ref().unwrap();
    let mut ids: Vec<_> = models.rows.iter().map(|row| (row.provider.clone(), row.id.clone())).collect();
    let rows = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), rows, "an id stands twice");
    assert!(models.as_of.parse::<jiff::civil::Date>().is_ok());
    for row in &models.rows {
        let provider = match row.provider.as_deref() {
            Some("anthropic") => Provider::Anthropic,
            Some("openai") => Provider::OpenAi,
            Some("ollama") => Provider::Ollama,
            other => panic!("{other:?} is no provider of rows"),
        };
        let model = find(provider, row.id.as_deref().unwrap());
        assert!(model.known && row.context_size.is_some() && row.token_factor.is_some(), "{row:?}");
        assert_eq!(Some(&model.thinking), row.thinking.as_ref());
        let no_price_is_free = model.price != Price::Free || provider == Provider::Ollama;
        assert!(no_price_is_free, "{}", model.id);
    }
}

#[test]
fn the_default_model_of_every_provider_is_known() {
    for provider in [Provider::Template, Provider::Anthropic, Provider::Bedrock, Provider::OpenAi, Provider::Ollama] {
        let config = ContextConfig { provider, ..ContextConfig::default() };
        let model = find(provider, config.model());
        assert!(model.known && model.price != Price::Unknown, "{model:?}");
    }
}

#[test]
fn the_cheap_model_is_as_its_makers_say() {
    let model = find(Provider::Anthropic, "claude-haiku-5-5");
    let above = Rates {
        as_of: "2026-11-12".to_owned(),
        input: 500_000,
        output: 2_500_000,
        cache_write: 625_000,
        cache_read: 50_000,
        batch_percent: 50,
        above: None,
    };
    let expected = Rates {
        input: 100_000,
        output: 500_000,
        cache_write: 125_000,
        cache_read: 10_000,
        above: Some((100_000, Box::new(above.clone()))),
        ..above
    };
    assert_eq!(rates(&model), &expected);
    assert!(!model.sampling && model.json_schema);
    assert_eq!(model.thinking, Thinking::Disable);
    assert_eq!((model.min_cache_tokens, model.context_size), (Some(512), 1_000_000));
}

#[test]
fn rates_of_longer_prompts_are_named_one_by_one() {
    let table = said("claude-haiku-5-5", "above = { tokens = 50_000, output = 9.0 }");
    let model = Model::find(Provider::Anthropic, "claude-haiku-5-5", false, &[table]).unwrap();
    let (tokens, above) = rates(&model).above.as_ref().unwrap();
    assert_eq!((*tokens, above.input, above.output, above.cache_write), (50_000, 500_000, 9_000_000, 625_000));
}

#[test]
fn ids_are_found_with_their_dates_and_prefixes() {
    let haiku = |provider, id| rates(&find(provider, id)).input;
    assert_eq!(haiku(Provider::Anthropic, "claude-haiku-4-5-20251001"), 1_000_000);
    assert_eq!(haiku(Provider::Anthropic, "claude-haiku-5-5-latest"), 100_000);
    assert_eq!(haiku(Provider::Anthropic, "anthropic/claude-haiku-5-5"), 100_000);
    assert_eq!(haiku(Provider::OpenAi, "gpt-6-luna-2026-09-01"), 100_000);
    assert_eq!(haiku(Provider::OpenAi, "openrouter/openai/gpt-6-luna"), 100_000);
    assert_eq!(haiku(Provider::OpenAi, "openai/gpt-oss-20b"), 75_000);
    assert_eq!(haiku(Provider::OpenAi, "gpt-5.4-nano"), 200_000);
    assert_eq!(rates(&find(Provider::OpenAi, "deepseek-flash")).cache_write, 0);
    // A model without a price for writing pays for reading.
    assert_eq!(rates(&find(Provider::OpenAi, "gpt-5.4-nano")).cache_write, 200_000);
}

#[test]
fn a_new_number_in_a_name_is_a_new_model() {
    for id in ["claude-haiku-5-50", "claude-haiku-5-5-6", "claude-sonnet-5-6", "claude-haiku-5", "gpt-6-lunar", ""] {
        for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Bedrock] {
            let model = find(provider, id);
            assert!(!model.known && model.price == Price::Unknown, "{id}: {model:?}");
        }
    }
}

#[test]
fn bedrock_takes_a_tenth_more_in_a_region() {
    let input = |id| rates(&find(Provider::Bedrock, id)).input;
    assert_eq!(input("global.anthropic.claude-haiku-5-5"), 100_000);
    for id in ["us.anthropic.claude-haiku-5-5", "eu.anthropic.claude-haiku-5-5", "anthropic.claude-haiku-5-5"] {
        let model = find(Provider::Bedrock, id);
        let Rates { input, output, cache_write, cache_read, batch_percent, above, .. } = rates(&model);
        assert_eq!((*input, *output, *cache_write, *cache_read), (110_000, 550_000, 137_500, 11_000));
        assert_eq!(*batch_percent, 100);
        assert_eq!(above.as_ref().unwrap().1.input, 550_000);
    }
    assert_eq!(input("eu.anthropic.claude-haiku-4-5-20251001-v1:0"), 1_100_000);
    let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-haiku-5-5";
    assert_eq!(input(arn), 100_000);
    assert!(!find(Provider::Bedrock, "claude-haiku-5-5").known, "Bedrock has no such id");
    assert!(!find(Provider::Bedrock, "meta.llama4").known);
}

#[test]
fn what_nobody_knows_is_never_free() {
    for provider in [Provider::Anthropic, Provider::Bedrock, Provider::OpenAi] {
        let model = find(provider, "somebody-s-model");
        assert_eq!(model.price, Price::Unknown);
        assert!(!model.known && !model.sampling && !model.json_schema);
        assert_eq!((model.thinking, model.context_size), (Thinking::Omit, 32_768));
        assert!(Model::find(provider, "somebody-s-model", true, &[]).unwrap().price == Price::Free);
    }
    assert_eq!(find(Provider::Ollama, "whatever:7b").price, Price::Free);
    assert_eq!(find(Provider::Ollama, "whatever:7b").thinking, Thinking::Disable);
    assert_eq!(find(Provider::Ollama, "gpt-oss:120b-cloud").price, Price::Unknown);
    // A row of capabilities alone is known, and still has no price.
    let opus = find(Provider::Anthropic, "claude-opus-5-5");
    assert!(opus.known && opus.price == Price::Unknown && opus.thinking == Thinking::Always);
}

#[test]
fn a_hosted_model_behind_a_proxy_on_this_machine_is_paid_for() {
    let at_home = |id| Model::find(Provider::OpenAi, id, true, &[]).unwrap();
    assert_eq!(rates(&at_home("gpt-6-luna")).input, 100_000);
    assert_eq!(at_home("gpt-oss-20b").price, Price::Free, "its weights are public");
    let free = [said("gpt-6-luna", "price = 'free'")];
    assert_eq!(Model::find(Provider::OpenAi, "gpt-6-luna", true, &free).unwrap().price, Price::Free);
    // Anthropic's models in OpenAI's clothes: the price stays, the spelling is the proxy's.
    let model = at_home("anthropic/claude-haiku-5-5");
    assert_eq!((rates(&model).input, model.thinking, model.sampling), (100_000, Thinking::Omit, false));
}

#[test]
fn small_servers_on_this_machine_take_a_schema() {
    let model = Model::find(Provider::OpenAi, "tiny", true, &[]).unwrap();
    assert!(model.json_schema && model.sampling && !model.known);
}

#[test]
fn the_users_word_is_laid_over_the_table_key_by_key() {
    let overrides = [
        said("claude-haiku-5-5", "input = 0.2\nas_of = 2026-12-24"),
        said("claude-", "sampling = true\ninput = 7"),
        said("claude-haiku-5-50", "input = 9"),
    ];
    let model = Model::find(Provider::Anthropic, "claude-haiku-5-5", false, &overrides).unwrap();
    assert!(model.sampling);
    let rates = rates(&model);
    assert_eq!((rates.input, rates.output, rates.as_of.as_str()), (200_000, 500_000, "2026-12-24"));
    assert_eq!(rates.above.as_ref().unwrap().1.input, 500_000);
}

#[test]
fn the_user_can_make_a_model_known() {
    let table = "
        input = 0.0375
        output = 1.2
        batch_percent = 40
        context_size = 8192
        thinking = 'effort:low'
        output_cap = 'max_tokens'
        min_cache_tokens = 256
        token_factor = 1.1
        above = { tokens = 1000, input = 0.000001 }
    ";
    let model = Model::find(Provider::OpenAi, "mine-2", false, &[said("mine-", table)]).unwrap();
    assert!(model.known);
    assert_eq!(
        (model.thinking, model.context_size, model.min_cache_tokens),
        (Thinking::Effort("low"), 8192, Some(256))
    );
    assert_eq!(model.output_cap.as_deref(), Some("max_tokens"));
    let rates = rates(&model);
    assert_eq!((rates.input, rates.output, rates.cache_read, rates.batch_percent), (37_500, 1_200_000, 37_500, 40));
    assert_eq!(rates.as_of, CONFIGURED);
    let (limit, above) = rates.above.as_ref().unwrap();
    assert_eq!((*limit, above.input, above.output), (1000, 1, 1_200_000));
    // Capabilities alone say nothing about the price.
    let model = Model::find(Provider::OpenAi, "mine", false, &[said("mine", "sampling = true")]).unwrap();
    assert_eq!((model.known, model.sampling, model.price), (true, true, Price::Unknown));
    // Unknown again, or without a part.
    let over = [said("gpt-6-luna", "price = 'unknown'\nmin_cache_tokens = 0\noutput_cap = ''")];
    let model = Model::find(Provider::OpenAi, "gpt-6-luna", false, &over).unwrap();
    assert_eq!((model.price, model.min_cache_tokens, model.output_cap), (Price::Unknown, None, None));
}

#[test]
fn what_is_said_of_a_model_is_said_of_its_versions_and_of_no_other() {
    for (name, id, meant) in [
        ("m", "m", true),
        ("m", "m2", false),
        ("m", "proxy/m", true),
        ("m", "m:latest", true),
        ("gpt-9", "gpt-9-pro", false),
        ("gpt-9", "gpt-9-2031-05-01", true),
        ("gpt-9", "gpt-9.1", false),
        ("gpt-", "gpt-9-pro", true),
    ] {
        let model = Model::find(Provider::OpenAi, id, false, &[said(name, "price = 'free'")]).unwrap();
        assert_eq!(model.price == Price::Free, meant, "{name} {id}");
    }
}

#[test]
fn dollars_become_micro_dollars_exactly() {
    for micro in (0..2_000_000_u64).step_by(997).chain([1, 999_999, 37_500, 110_000]) {
        let table = format!("input = {}.{:06}\noutput = 0", micro / 1_000_000, micro % 1_000_000);
        let model = Model::find(Provider::OpenAi, "mine", false, &[said("mine", &table)]).unwrap();
        assert_eq!(rates(&model).input, micro);
    }
}

#[test]
fn what_is_wrong_with_an_override_is_named_even_if_it_is_for_another_model() {
    for (table, key) in [
        ("inptu = 1", "inptu"),
        ("input = 1", ""),
        ("input = -1", "input"),
        ("input = nan", "input"),
        ("input = '1'", "input"),
        ("output = 0.0000001", "output"),
        ("batch_percent = 0", "batch_percent"),
        ("sampling = 1", "sampling"),
        ("thinking = 'hard'", "thinking"),
        ("thinking = 'effort:'", "thinking"),
        ("context_size = 0", "context_size"),
        ("token_factor = 0", "token_factor"),
        ("min_cache_tokens = -3", "min_cache_tokens"),
        ("as_of = 'yesterday'", "as_of"),
        ("above = 3", "above"),
        ("above = { input = 3 }", "above.tokens"),
        ("above = { tokens = 3, tax = 3 }", "above.tax"),
        ("above = { tokens = 3, input = -3 }", "above.input"),
        ("price = 'free'\ninput = 1", "price"),
        ("price = 'cheap'", "price"),
        ("id = 'x'", "id"),
        ("input = ", ""),
    ] {
        // Whether prices are whole is seen only where they are needed.
        if table == "input = 1" {
            let error = Model::find(Provider::OpenAi, "mine", false, &[said("mine", table)]).unwrap_err();
            assert!(error.contains("output"), "{error}");
            continue;
        }
        let error = wrong(table);
        assert!(error.contains(&format!("\"mine\": {key}")), "{table}: {error}");
    }
    assert!(Model::find(Provider::OpenAi, "x", false, &[said(" ", "")]).is_err());
}
