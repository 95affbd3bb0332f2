//! DrawRounds of draws, calls, checks and reviews, until enough requests are accepted.

use assay_ask::ModelHandle;
use assay_fs::Hasher;

use super::calls::{ModelCall, RequestModels};
use super::check::{Checks, Facts};
use super::library::RequestLibrary;
use super::pool::Pool;
use super::prompt::{Prompt, WritePrompt, written};
use super::review::{Decision, Opinion, Review, ReviewPrompt, decide};
use super::sample::{Draw, Sampler};
use crate::error::DraftError;

/// Draws for each request that is to be accepted, at most.
pub(crate) const TRIED: u32 = 3;

/// Most draws of a round. A round counts all its draws as requests until their replies are known.
const ROUND: u32 = 16;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Requests for the skills that were drawn.
    Positive,
    /// Requests for a neighbour of the skill that was drawn.
    Negative,
}

impl RequestKind {
    /// The source in files.
    pub fn source(self) -> &'static str {
        match self {
            Self::Positive => "draft",
            Self::Negative => "draft-negative",
        }
    }
}

/// What became known of a draw.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) kind: RequestKind,
    pub(crate) draw: Draw,
    /// Places in the library of the skills that serve the request.
    pub(crate) gold: Vec<usize>,
    /// Places of skills that it must not trigger.
    pub(crate) forbidden: Vec<usize>,
    /// The request; `None` if none was written.
    pub(crate) request: Option<String>,
    pub(crate) facts: Option<Facts>,
    /// Each with the model that reviewed.
    pub(crate) reviews: Vec<(Opinion, String)>,
    /// Ids among which the review of discriminability chose.
    pub(crate) choices: Vec<String>,
    pub(crate) result: DrawResult,
}

/// The result of a draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DrawResult {
    Accepted,
    /// One review objects: a person decides.
    Person(Review),
    /// A short name of the reason, and the reason.
    Dropped(&'static str, String),
}

/// The draws of one kind.
pub(crate) struct DrawRounds<'a> {
    kind: RequestKind,
    library: &'a RequestLibrary,
    /// Places in the library of the skills that are drawn.
    places: &'a [usize],
    sampler: Sampler,
}

impl<'a> DrawRounds<'a> {
    pub(crate) fn new(
        kind: RequestKind,
        library: &'a RequestLibrary,
        places: &'a [usize],
        pool: Option<Pool>,
        seed: u64,
    ) -> Self {
        let mut hasher = Hasher::new("assay.requests.draws/1");
        hasher.number(seed).part(kind.source().as_bytes()).part(pool.map_or("", Pool::name).as_bytes());
        let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = *hasher.finish().as_bytes();
        let seed = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
        Self { kind, library, places, sampler: Sampler::new(places.len(), seed) }
    }

    /// The next draw, without a request.
    pub(crate) fn next_draw(&mut self) -> Option<Drawn> {
        let skills = &self.library.skills;
        let draw = match self.kind {
            RequestKind::Positive => self.sampler.next_draw()?,
            RequestKind::Negative => self.sampler.draw_of(1)?,
        };
        let drawn: Vec<usize> = draw.skills.iter().map(|at| self.places[*at]).collect();
        let (gold, forbidden) = match self.kind {
            RequestKind::Positive => (drawn, Vec::new()),
            RequestKind::Negative => {
                let own = drawn[0];
                let copies = skills.copies(own);
                // The pools stay disjoint: the neighbour is of the same one.
                let is_usable =
                    |place: &usize| self.places.binary_search(place).is_ok() && !copies.contains(place);
                (skills.neighbours(own).find(is_usable).into_iter().collect(), drawn)
            }
        };
        let result = DrawResult::Dropped("no-neighbour", "no other skill resembles it".to_owned());
        let (request, facts, reviews, choices) = (None, None, Vec::new(), Vec::new());
        Some(Drawn { kind: self.kind, draw, gold, forbidden, request, facts, reviews, choices, result })
    }

    /// Draws until `count` requests are accepted, or [`TRIED`] times as many were tried. `checks` has the requests of
    /// other kinds.
    pub(crate) fn run_rounds(
        mut self,
        count: u32,
        models: &RequestModels,
        checks: &mut Checks,
        progress: &dyn Fn(usize, u32),
    ) -> Result<Vec<Drawn>, DraftError> {
        let mut all: Vec<Drawn> = Vec::new();
        let mut left = count.saturating_mul(TRIED);
        loop {
            let accepted = all.iter().filter(|drawn| drawn.result == DrawResult::Accepted).count();
            progress(accepted, count);
            let missing = count.saturating_sub(u32::try_from(accepted).unwrap_or(u32::MAX));
            let size = missing.min(ROUND).min(left);
            left -= size;
            let mut round: Vec<Drawn> = (0..size).map_while(|_| self.next_draw()).collect();
            if round.is_empty() {
                return Ok(all);
            }
            self.write(&mut round, models, checks)?;
            self.review(&mut round, models)?;
            for drawn in &round {
                if matches!(drawn.result, DrawResult::Dropped(..)) {
                    self.sampler.discard(&drawn.draw);
                }
            }
            all.extend(round);
        }
    }

    /// The prompt of a draw; `None` if there is no neighbour.
    pub(crate) fn prompt_of(&self, drawn: &Drawn) -> Option<Prompt> {
        let skills = &self.library.skills;
        let write = match self.kind {
            RequestKind::Positive => {
                WritePrompt::Positive(drawn.gold.iter().map(|place| skills.get(*place)).collect())
            }
            RequestKind::Negative => WritePrompt::Negative {
                neighbour: skills.get(*drawn.gold.first()?),
                skill: skills.get(*drawn.forbidden.first()?),
            },
        };
        Some(write.prompt(drawn.draw.style))
    }

    fn write(
        &self,
        round: &mut [Drawn],
        models: &RequestModels,
        checks: &mut Checks,
    ) -> Result<(), DraftError> {
        let prompts: Vec<_> = round.iter().map(|drawn| self.prompt_of(drawn)).collect();
        let calls: Vec<ModelCall<'_>> = round
            .iter()
            .zip(&prompts)
            .filter_map(|(drawn, prompt)| {
                let number = format!("{} {}", self.kind.source(), drawn.draw.number);
                let is_empty = |reply: &str| match reply.trim() {
                    "" => Err("The reply is empty".to_owned()),
                    _ => Ok(()),
                };
                let prompt = prompt.as_ref()?;
                Some(ModelCall { model: &models.writer, prompt, number, reader: Box::new(is_empty) })
            })
            .collect();
        let mut replies = models.call_all(&calls)?.into_iter();
        for (drawn, _) in round.iter_mut().zip(&prompts).filter(|(_, prompt)| prompt.is_some()) {
            let Some(reply) = replies.next() else { break };
            let Some(request) = written(&reply) else {
                let message = "the model says that no natural request exists".to_owned();
                drawn.result = DrawResult::Dropped("null", message);
                continue;
            };
            // What must not be triggered must not be named or copied either.
            let places = drawn.gold.iter().chain(&drawn.forbidden);
            let skills: Vec<_> = places.map(|place| self.library.skills.get(*place)).collect();
            match checks.check(&request, &skills) {
                Ok(facts) => {
                    drawn.facts = Some(facts);
                    drawn.result = DrawResult::Accepted;
                }
                Err(fault) => drawn.result = DrawResult::Dropped(fault.name(), fault.to_string()),
            }
            drawn.request = Some(request);
        }
        Ok(())
    }

    /// Reviews the requests that passed the checks.
    fn review(&self, round: &mut [Drawn], models: &RequestModels) -> Result<(), DraftError> {
        let passed: Vec<(usize, Vec<ReviewPrompt>)> = round
            .iter()
            .enumerate()
            .filter(|(_, drawn)| drawn.result == DrawResult::Accepted)
            .map(|(at, drawn)| {
                let request = drawn.request.as_deref().unwrap_or_default();
                let prompt = |review| {
                    ReviewPrompt::new(review, request, &drawn.gold, &drawn.forbidden, &self.library.skills)
                };
                (at, Review::ALL.map(prompt).into())
            })
            .collect();
        let reviewer = |number: usize| -> &ModelHandle { &models.reviewers[number % models.reviewers.len()] };
        let calls: Vec<ModelCall<'_>> = passed
            .iter()
            .flat_map(|(at, prompts)| {
                let number = format!("{} {}", self.kind.source(), round[*at].draw.number);
                prompts.iter().enumerate().map(move |(place, own)| ModelCall {
                    model: reviewer(place),
                    prompt: &own.prompt,
                    number: number.clone(),
                    reader: Box::new(|reply: &str| {
                        own.read(reply).map(|_| ()).map_err(|error| error.to_string())
                    }),
                })
            })
            .collect();
        let replies = models.call_all(&calls)?;
        drop(calls);
        let mut replies = replies.into_iter();
        for (at, prompts) in &passed {
            let drawn = &mut round[*at];
            for (place, own) in prompts.iter().enumerate() {
                let reply = replies.next().unwrap_or_default();
                let opinion = own.read(&reply).unwrap_or_else(|fault| own.unreadable(&fault.to_string()));
                drawn.choices.extend(own.choices().map(str::to_owned));
                drawn.reviews.push((opinion, reviewer(place).name().to_owned()));
            }
            let opinions: Vec<Opinion> = drawn.reviews.iter().map(|(opinion, _)| opinion.clone()).collect();
            drawn.result = match decide(&opinions) {
                Decision::Accepted => DrawResult::Accepted,
                Decision::Person(review) => DrawResult::Person(review),
                Decision::Dropped => {
                    let objections = opinions.iter().filter(|opinion| !opinion.approves);
                    let reasons: Vec<String> =
                        objections.map(|own| format!("{}: {}", own.review.name(), own.reason)).collect();
                    DrawResult::Dropped("reviews", reasons.join("; "))
                }
            };
        }
        Ok(())
    }
}
