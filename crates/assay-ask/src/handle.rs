//! A model that is asked.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_model::{Api, ChatModel, ModelError, ModelOptions, Price};
use serde_json::Value;

use crate::{PreflightError, PreflightEvent, check_model, is_paid};

/// Looks up a variable of the environment.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How a model is opened and checked.
struct Access {
    options: ModelOptions,
    env: EnvLookup,
}

/// A model under its name. It is opened when it is first asked, or before.
pub struct ModelHandle {
    name: String,
    /// `None` if it was opened elsewhere, and was checked there if it was to be.
    access: Option<Access>,
    identity: Value,
    opened: Mutex<Option<Arc<dyn ChatModel>>>,
    /// The result of its first request.
    checked: Mutex<Option<Result<(), Arc<PreflightError>>>>,
}

impl fmt::Debug for ModelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelHandle").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ModelHandle {
    /// Opens a model by its name. No request is sent.
    ///
    /// # Errors
    /// A wrong name, or a key that is missing.
    pub fn open(name: &str, options: ModelOptions, env: EnvLookup) -> Result<Self, ModelError> {
        let handle = Self::open_on_use(name, options, env)?;
        handle.model()?;
        Ok(handle)
    }

    /// The same for a model that may not be asked: its key is needed only then. A script is read now, because stored
    /// replies depend on it.
    ///
    /// # Errors
    /// A wrong name, or a script that cannot be read.
    pub fn open_on_use(name: &str, options: ModelOptions, env: EnvLookup) -> Result<Self, ModelError> {
        let keyless = ModelOptions { needs_key: false, ..options.clone() };
        let model = assay_model::open(name, &keyless, &*env)?;
        let opened = (!model.measures_a_model()).then(|| Arc::clone(&model));
        Ok(Self {
            name: name.to_owned(),
            identity: model.identity(),
            access: Some(Access { options, env }),
            opened: Mutex::new(opened),
            checked: Mutex::default(),
        })
    }

    /// A model that is open. Its connection is not checked.
    pub fn of_model(model: Arc<dyn ChatModel>) -> Self {
        Self::of_model_named(model.id().to_owned(), model)
    }

    /// The same under another name.
    pub fn of_model_named(name: String, model: Arc<dyn ChatModel>) -> Self {
        let identity = model.identity();
        Self { name, access: None, identity, opened: Mutex::new(Some(model)), checked: Mutex::default() }
    }

    /// `provider:model`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its replies depend on besides the conversation: the digest of a script; `Null` otherwise.
    pub fn identity(&self) -> &Value {
        &self.identity
    }

    /// The address that was given in place of the provider's own.
    pub fn base_url(&self) -> Option<&str> {
        self.access.as_ref()?.options.base_url.as_deref()
    }

    /// Whether somebody bills for it. Nobody is taken to bill for a model that was opened elsewhere.
    pub fn is_paid(&self, price: Option<Price>) -> bool {
        self.access.as_ref().is_some_and(|access| is_paid(&self.name, self.base_url(), price, &*access.env))
    }

    /// Whether its replies measure a model: it is no script.
    pub fn measures_a_model(&self) -> bool {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref().is_none_or(|model| model.measures_a_model())
    }

    /// The model, opened.
    ///
    /// # Errors
    /// A key that is missing.
    pub fn model(&self) -> Result<Arc<dyn ChatModel>, ModelError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*opened {
            return Ok(Arc::clone(model));
        }
        let access =
            self.access.as_ref().ok_or_else(|| ModelError::Spec("the model is not open".to_owned()))?;
        let model = assay_model::open(&self.name, &access.options, &*access.env)?;
        Ok(Arc::clone(opened.insert(model)))
    }

    /// Checks the connection with one short request, once: others wait for its result. Scripts have none.
    ///
    /// # Errors
    /// The model cannot be used.
    pub fn check_connection(
        &self,
        most: Duration,
        cancel: &AtomicBool,
        events: &mut dyn FnMut(&PreflightEvent),
    ) -> Result<(), Arc<PreflightError>> {
        let Some(access) = self.access.as_ref().filter(|_| self.measures_a_model()) else { return Ok(()) };
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = &*checked {
            return result.clone();
        }
        let result = check_model(&self.name, Api::Chat, &access.options, most, &*access.env, cancel, events);
        checked.insert(result.map_err(Arc::new)).clone()
    }
}
