//! Questions at the same time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Answer, AskError, Asker, ModelHandle, ModelQuestion};

/// Reads a reply, or says what is wrong with it.
pub type ReplyReader<'a, T> = Box<dyn Fn(&str) -> Result<T, String> + Sync + 'a>;

/// A question with the model that it is for and the reader of its reply.
pub struct QuestionOf<'a, T> {
    /// The model.
    pub model: &'a ModelHandle,
    /// The question.
    pub question: ModelQuestion,
    /// Reads a reply, or says what is wrong with it.
    pub read: ReplyReader<'a, T>,
}

impl<T> std::fmt::Debug for QuestionOf<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuestionOf").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asker<'_> {
    /// The answers to questions, in their order. The connections to all models that are asked are checked before the
    /// first question is sent. The first failure ends it: no more questions are sent, and replies under way are stored.
    ///
    /// # Errors
    /// The first failure.
    pub fn answer_all<T: Send>(
        &self,
        questions: &[QuestionOf<'_, T>],
        concurrency: usize,
        cancel: &AtomicBool,
    ) -> Result<Vec<Answer<T>>, AskError> {
        let failure = Mutex::new(None);
        let answers = self.answer_each(questions, concurrency, cancel, &|_, result| match result {
            Ok(answer) => Some(answer),
            Err(error) => {
                lock(&failure).get_or_insert(error);
                None
            }
        })?;
        match lock(&failure).take() {
            Some(error) => Err(error),
            None => Ok(answers.into_iter().flatten().collect()),
        }
    }

    /// The results of questions, in their order. `on_result` is given each as it comes, with its place, and returns what is
    /// kept of it; `None` ends it: no more questions are sent. Questions that were not sent have no result.
    ///
    /// # Errors
    /// A model whose stored replies are not enough cannot be used.
    pub fn answer_each<T: Send, R: Send>(
        &self,
        questions: &[QuestionOf<'_, T>],
        concurrency: usize,
        cancel: &AtomicBool,
        on_result: &(dyn Fn(usize, Result<Answer<T>, AskError>) -> Option<R> + Sync),
    ) -> Result<Vec<Option<R>>, AskError> {
        let models = self.open_models(questions)?;
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let results: Vec<Mutex<Option<R>>> = questions.iter().map(|_| Mutex::new(None)).collect();
        let work = || {
            while !stop.load(Ordering::Relaxed) && !cancel.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((of, result)) = questions.get(at).zip(results.get(at)) else { return };
                let answer = self.answer_after_checking(of.model, &of.question, &*of.read, &models, cancel);
                match on_result(at, answer) {
                    Some(kept) => *lock(result) = Some(kept),
                    None => stop.store(true, Ordering::Relaxed),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..concurrency.clamp(1, questions.len().max(1)) {
                scope.spawn(work);
            }
        });
        Ok(results
            .into_iter()
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }

    /// The models of questions that are not answered by what is stored.
    fn open_models<'b, T>(
        &self,
        questions: &'b [QuestionOf<'_, T>],
    ) -> Result<Vec<&'b ModelHandle>, AskError> {
        let mut models: Vec<&ModelHandle> = Vec::new();
        for of in questions {
            let is_listed = models.iter().any(|model| std::ptr::eq(*model, of.model));
            if !is_listed && !self.is_answered(&of.question, &*of.read)? {
                models.push(of.model);
            }
        }
        Ok(models)
    }
}
