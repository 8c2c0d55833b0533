//! What tokens cost: a dated table, embedded and overridable. Must not know providers.

use serde::Deserialize;

/// Price of one model, US dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prefix of the model's name.
    pub model: String,
    /// Tokens in.
    pub input: f64,
    /// Tokens out, thinking included.
    pub output: f64,
    /// Prompts longer than this cost the `long_` prices.
    pub long_above: Option<u64>,
    /// Tokens in of a long prompt.
    pub long_input: Option<f64>,
    /// Tokens out of a long prompt.
    pub long_output: Option<f64>,
    /// When the price was read.
    pub read: String,
    /// Where.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    price: Vec<Price>,
}

/// A table of prices.
#[derive(Clone, Debug, Default)]
pub struct Prices(Vec<Price>);

impl Prices {
    /// The table that comes with the program.
    pub fn embedded() -> Self {
        // A test holds the embedded file to its form; without it costs would be missing, not wrong.
        Self::parse(include_str!("../data/prices.toml")).unwrap_or_default()
    }

    /// Reads a table.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str::<File>(text).map(|f| Self(f.price)).map_err(|e| e.to_string())
    }

    /// This table with the entries of `over` in front.
    #[must_use]
    pub fn overridden(self, over: Self) -> Self {
        let kept = self.0.into_iter().filter(|p| !over.0.iter().any(|o| o.model == p.model)).collect::<Vec<_>>();
        Self(over.0.into_iter().chain(kept).collect())
    }

    /// The price of a model: the longest prefix of its name. A provider's folder (`models/`, `google/`) is ignored.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let name = model.rsplit('/').next().unwrap_or(model);
        self.0.iter().filter(|p| name.starts_with(&p.model)).max_by_key(|p| p.model.len())
    }

    /// Cost of a call in US dollars, where the price is known.
    pub fn cost(&self, model: &str, tokens_in: u64, tokens_out: u64) -> Option<f64> {
        let price = self.of(model)?;
        let long = price.long_above.is_some_and(|above| tokens_in > above);
        let pick = |short: f64, other: Option<f64>| if long { other.unwrap_or(short) } else { short };
        let (input, output) = (pick(price.input, price.long_input), pick(price.output, price.long_output));
        Some((tokens_in as f64 * input + tokens_out as f64 * output) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_is_well_formed_and_dated() {
        let prices = Prices::parse(include_str!("../data/prices.toml")).unwrap();
        assert!(prices.0.len() >= 8);
        assert!(prices.0.iter().all(|p| p.read.starts_with("20") && !p.source.is_empty() && p.input <= p.output));
    }

    #[test]
    fn the_longest_prefix_wins_and_long_prompts_cost_more() {
        let prices = Prices::embedded();
        assert_eq!(prices.cost("gpt-5.4-mini-2026-03-01", 1_000_000, 0), Some(0.75));
        assert_eq!(prices.cost("models/gemini-2.5-pro", 100_000, 50_000), Some(0.625));
        assert_eq!(prices.cost("gemini-2.5-pro", 300_000, 0), Some(0.75));
        assert_eq!(prices.cost("some-local-model", 1, 1), None);
        let over = "[[price]]\nmodel = 'gpt-5.4'\ninput = 1\noutput = 2\nread = '2027'\nsource = 'me'";
        let prices = prices.overridden(Prices::parse(over).unwrap());
        assert_eq!(prices.cost("gpt-5.4", 1_000_000, 1_000_000), Some(3.0));
        assert!(Prices::parse("[[price]]\nmodel = 'x'").unwrap_err().contains("missing field"));
    }
}
