//! What a command's requests to models may cost, and why one has no reply.

use std::sync::{Mutex, PoisonError};

use assay_judge::Request;
use assay_model::{ModelError, Price, Usage};
use assay_trial::judging::{AskError, REPLY_TOKENS, TRIES};

use crate::failure::Failure;
use crate::machine;

/// The cap of a command, and what it has spent.
#[derive(Debug)]
pub struct RequestBudget {
    price: Option<Price>,
    max_usd: Option<f64>,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    usage: Usage,
    /// Cost of requests under way, at most.
    reserved: f64,
}

/// The price that `--price IN,OUT` gives, if it is given.
pub fn price_of(values: &[f64]) -> Result<Option<Price>, Failure> {
    match *values {
        [] => Ok(None),
        [input, output] if input >= 0.0 && output >= 0.0 => Ok(Some(Price::new(input, output, None, None))),
        _ => Err(Failure::bad_input("--price needs two numbers, for input and output")
            .hint("--price 3,15, in USD per million tokens")),
    }
}

impl RequestBudget {
    /// A budget with the values of `--price` and `--max-usd`. `spent` is what counts already.
    pub(crate) fn new(price: &[f64], max_usd: Option<f64>, spent: Usage) -> Result<Self, Failure> {
        let price = price_of(price)?;
        if max_usd.is_some() && price.is_none() {
            return Err(Failure::bad_input("--max-usd needs --price").hint("--price IN,OUT"));
        }
        Ok(Self { price, max_usd, spent: Mutex::new(Spent { usage: spent, reserved: 0.0 }) })
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The maximum cost of an answer in USD: all replies of full length, and a quarter for differences between
    /// tokenizers. 0 without a price.
    pub(crate) fn max_cost(&self, request: &Request) -> f64 {
        self.max_cost_of(assay_model::tokens(&request.system) + assay_model::tokens(&request.text))
    }

    /// The maximum cost of an answer to a request with so many tokens.
    pub(crate) fn max_cost_of(&self, tokens: usize) -> f64 {
        let output = u64::from(REPLY_TOKENS);
        let input =
            u64::try_from(tokens).unwrap_or(u64::MAX).saturating_mul(u64::from(TRIES)).saturating_add(output);
        let usage = Usage { input, output: u64::from(TRIES) * output, ..Usage::default() };
        self.price.map_or(0.0, |price| 1.25 * price.cost(&usage))
    }

    /// An amount in USD, unless prices are unknown.
    pub(crate) fn priced(&self, usd: f64) -> Option<f64> {
        self.price.map(|_| usd)
    }

    /// Sets the cost of a request aside, unless that exceeds the cap.
    pub(crate) fn reserve(&self, request: &Request) -> Result<(), Failure> {
        let most = self.max_cost(request);
        let mut spent = self.spent();
        let so_far = self.price.map_or(0.0, |price| price.cost(&spent.usage));
        if let Some(cap) = self.max_usd.filter(|cap| so_far + spent.reserved + most > *cap) {
            return Err(Failure::bad_input(format!(
                "--max-usd {cap} is reached: ${so_far:.4} is spent, and the next request may cost ${most:.4}"
            ))
            .hint("run the command again with a higher cap, which uses the replies so far"));
        }
        spent.reserved += most;
        Ok(())
    }

    /// Ends what [`Self::reserve`] began.
    pub(crate) fn release(&self, request: &Request) {
        let most = self.max_cost(request);
        self.spent().reserved -= most;
    }

    /// Books the usage of a reply.
    pub(crate) fn add(&self, usage: Usage) {
        self.spent().usage += usage;
    }

    /// What was spent.
    pub(crate) fn usage(&self) -> Usage {
        self.spent().usage
    }

    /// What was spent in USD, unless prices are unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.price.map(|price| price.cost(&self.usage()))
    }

    /// Refuses a paid model without a cap. `what` is the subject of the message, such as "this batch".
    pub(crate) fn check_cap(
        &self,
        model: &str,
        base_url: Option<&str>,
        no_cap: bool,
        what: &str,
    ) -> Result<(), Failure> {
        if self.max_usd.is_some() || no_cap || !machine::is_paid(model, base_url, self.price) {
            return Ok(());
        }
        Err(Failure::bad_input(format!("{model} is a paid model, and {what} has no cap"))
            .hint("--max-usd USD with --price, or --no-cap"))
    }
}

/// A model that gives no answer. `role` is what it is called in the message, such as "judge".
pub(crate) fn no_answer(error: AskError, role: &str) -> Failure {
    let (model, source) = match error {
        AskError::NoReply { judge, source } => (judge, source),
        AskError::Unreadable { judge, fault } => {
            return Failure::infrastructure(format!(
                "cannot read the replies of the {role} {judge}: {fault}"
            ))
            .hint(format!("use another {role}; the replies so far are kept"));
        }
        error => return Failure::infrastructure(error.to_string()),
    };
    let message = format!("the {role} {model} gives no reply");
    let hint = match &source {
        ModelError::Refused { .. } => "check the model's name and its API key (--api-key-env)".to_owned(),
        ModelError::Script(_) => "add a rule that answers to the script".to_owned(),
        ModelError::ContextExceeded { .. } => {
            format!("use a {role} with a larger context window, or shorter material")
        }
        _ => "run the command again, which uses the replies so far".to_owned(),
    };
    let is_input = matches!(source, ModelError::Script(_) | ModelError::Spec(_));
    let (hint, source) = (Some(hint), Some(source.to_string().into()));
    if is_input {
        Failure::BadInput { message, hint, source, details: Vec::new() }
    } else {
        Failure::Infrastructure { message, hint, source }
    }
}
