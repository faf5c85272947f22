//! From the name of a model to the provider that has it, with key and price.

#[cfg(test)]
mod tests;

use std::{
    fmt, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use indexmap::IndexMap;
use interlock_expr::nearest::nearest;
use interlock_models::{BadProvider, Key, Kind, Price, Provider};

use crate::config::{Config, PriceConfig, ProviderConfig, Providers, expand};

/// The largest file of a key that is read, in bytes.
const KEY_BYTES_MAX: u64 = 65_536;
/// How names of models begin that need no provider's name.
const PREFIXES: [(&str, &str); 6] = [
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "google"),
];

/// What a person and a project have set about models; the person's own wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    providers: Providers,
    aliases: IndexMap<String, String>,
    default_model: Option<String>,
    prices: IndexMap<String, PriceConfig>,
}

/// A model, by its provider's name and its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// The provider, as it is written.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// What the provider speaks.
    pub kind: Kind,
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// A model that can be called.
#[derive(Debug, Clone)]
pub struct ReadyModel {
    /// Its name.
    pub name: ModelName,
    /// Its provider, with the key.
    pub provider: Provider,
    /// What it costs; `None`: nobody says.
    pub price: Option<Price>,
}

/// A model that cannot be called. Holds no key.
#[derive(Debug, thiserror::Error)]
pub enum ModelSetupError {
    /// Nothing says where it is.
    #[error("`{name}` is not a model: write `provider/name`, or a name of `[models]`{}", did_you_mean(.meant.as_deref()))]
    Unknown {
        /// As it was written.
        name: String,
        /// The nearest name there is.
        meant: Option<String>,
    },
    /// Its provider is not configured.
    #[error("`{name}` names the provider `{provider}`, and there is none: define `[providers.{provider}]` in your own `config.toml`{}", did_you_mean(.meant.as_deref()))]
    UnknownProvider {
        /// As it was written.
        name: String,
        /// The provider.
        provider: String,
        /// The nearest name there is.
        meant: Option<String>,
    },
    /// Nobody says which.
    #[error(
        "no model is named: set `default_model` in your config.toml, or take `--model provider/name`"
    )]
    None,
    /// Its provider wants a key.
    #[error("the provider `{provider}` has no key: set `{variable}`")]
    KeyMissing {
        /// The provider.
        provider: String,
        /// The variable, or the variables, any of which is looked at.
        variable: String,
    },
    /// The file of the key cannot be read.
    #[error("the key of the provider `{provider}` cannot be read from `{path}`: {source}")]
    KeyFile {
        /// The provider.
        provider: String,
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// A header needs a variable that is not set.
    #[error("the header `{header}` of the provider `{provider}` cannot be made: {why}")]
    Header {
        /// The provider.
        provider: String,
        /// The header.
        header: String,
        /// Why it ended so.
        why: String,
    },
    /// Its provider cannot be used.
    #[error("the provider `{provider}` cannot be used: {source}")]
    Bad {
        /// The provider.
        provider: String,
        /// The underlying error.
        source: BadProvider,
    },
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

impl Models {
    /// Joins what a person and a project have set; the person's own wins, name by name.
    ///
    /// Providers are the person's alone, whatever the other says.
    #[must_use]
    pub fn of(person: &Config, project: &Config) -> Self {
        let mut aliases = project.models.clone();
        aliases.extend(person.models.clone());
        let mut prices = project.prices.clone();
        prices.extend(person.prices.clone());
        let default_model = person.default_model.as_ref();
        Self {
            providers: person.providers.clone(),
            aliases,
            default_model: default_model.or(project.default_model.as_ref()).cloned(),
            prices,
        }
    }

    /// Returns the model of whoever names none.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.default_model.as_deref()
    }

    /// Finds a model: an alias, a `provider/name`, a name whose beginning says whose it is.
    ///
    /// `None` is the default model. No key is looked at.
    ///
    /// # Errors
    /// There is no such model, or its provider is not configured.
    pub fn find(&self, name: Option<&str>) -> Result<ModelName, ModelSetupError> {
        let name = name.or(self.default_model()).ok_or(ModelSetupError::None)?;
        let full = self.aliases.get(name).map_or(name, String::as_str);
        let by_prefix = || PREFIXES.iter().find(|(begin, _)| full.starts_with(begin));
        let (provider, model) = match full.split_once('/') {
            Some((provider, model)) if !model.is_empty() => (provider, model),
            None if by_prefix().is_some() => {
                (by_prefix().map_or("", |(_, provider)| *provider), full)
            }
            _ => {
                let known = self.aliases.keys().map(String::as_str);
                return Err(ModelSetupError::Unknown {
                    name: name.to_owned(),
                    meant: nearest(name, known).map(str::to_owned),
                });
            }
        };
        let kind = self.kind(provider).ok_or_else(|| {
            let own = self.providers.keys().map(crate::ProviderName::as_str);
            let known = own.chain(Kind::ALL.map(Kind::as_str));
            ModelSetupError::UnknownProvider {
                name: name.to_owned(),
                provider: provider.to_owned(),
                meant: nearest(provider, known).map(str::to_owned),
            }
        })?;
        Ok(ModelName {
            provider: provider.to_owned(),
            model: model.to_owned(),
            kind,
        })
    }

    /// Finds a model and makes its provider ready to be called; `variable` looks a variable up.
    ///
    /// # Errors
    /// As [`Models::find`]; its key is missing, or its provider cannot be used.
    pub fn ready(
        &self,
        name: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ReadyModel, ModelSetupError> {
        let name = self.find(name)?;
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let none = ProviderConfig::default();
        let set = self.set(&name.provider).unwrap_or(&none);
        let bad = |source| ModelSetupError::Bad {
            provider: name.provider.clone(),
            source,
        };
        // The variable is that of the kind's own name: other providers of the kind keep their address.
        let is_own = is_built_in(&name.provider) || set.base_url.is_none();
        let other = variable(name.kind.url_variable()).filter(|_| is_own);
        let base_url = other.or_else(|| set.base_url.clone());
        let key = self.key(&name, set, &variable)?;
        let mut provider = Provider::new(name.kind, base_url.as_deref(), key).map_err(bad)?;
        for (header, value) in &set.headers {
            let value = expand(value, variable).map_err(|why| ModelSetupError::Header {
                provider: name.provider.clone(),
                header: header.clone(),
                why,
            })?;
            provider = provider.with_header(header, &value).map_err(bad)?;
        }
        if let Some(seconds) = set.timeout {
            provider = provider.with_timeout(Duration::from_secs(seconds.get().into()));
        }
        let price = self.price(&name);
        Ok(ReadyModel {
            name,
            provider,
            price,
        })
    }

    /// Returns what a model costs; `None`: nobody says.
    #[must_use]
    pub fn price(&self, name: &ModelName) -> Option<Price> {
        // Two names for one.
        let other = match name.provider.as_str() {
            "gemini" => "google",
            "google" => "gemini",
            same => same,
        };
        let own = self.prices.get(&name.to_string());
        let found = own.or_else(|| self.prices.get(&format!("{other}/{}", name.model)));
        found.map(PriceConfig::price)
    }

    /// Returns the table of a provider; `google` and `gemini` are one.
    fn set(&self, provider: &str) -> Option<&ProviderConfig> {
        let other = match provider {
            "gemini" => "google",
            "google" => "gemini",
            same => same,
        };
        self.providers
            .get(provider)
            .or_else(|| self.providers.get(other))
    }

    fn kind(&self, provider: &str) -> Option<Kind> {
        let said = self.set(provider).and_then(|set| set.kind);
        said.or_else(|| provider.parse().ok())
    }

    fn key(
        &self,
        name: &ModelName,
        set: &ProviderConfig,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Key>, ModelSetupError> {
        let provider = &name.provider;
        let bad = |source| ModelSetupError::Bad {
            provider: provider.clone(),
            source,
        };
        let missing = |variable: String| ModelSetupError::KeyMissing {
            provider: provider.clone(),
            variable,
        };
        if let Some(named) = &set.api_key_env {
            let key = variable(named).ok_or_else(|| missing(named.clone()))?;
            return Key::new(&key).map(Some).map_err(bad);
        }
        if let Some(path) = &set.api_key_file {
            let path = below_home(path, variable);
            let text = read(&path).map_err(|source| ModelSetupError::KeyFile {
                provider: provider.clone(),
                path,
                source,
            })?;
            return Key::new(&text).map(Some).map_err(bad);
        }
        // A key of the well-known place goes nowhere else, but for the kind's own name.
        let is_placed = set.base_url.is_some();
        if is_placed && !is_built_in(provider) {
            return Ok(None);
        }
        let variables = name.kind.key_variables();
        let key = variables.iter().find_map(|name| variable(name));
        match key {
            Some(key) => Key::new(&key).map(Some).map_err(bad),
            None if variables.is_empty() || is_placed => Ok(None),
            None => Err(missing(variables.join("` or `"))),
        }
    }
}

fn is_built_in(provider: &str) -> bool {
    provider.parse::<Kind>().is_ok()
}

fn below_home(path: &Path, variable: &impl Fn(&str) -> Option<String>) -> PathBuf {
    match (path.strip_prefix("~"), variable("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?
        .take(KEY_BYTES_MAX)
        .read_to_string(&mut text)?;
    Ok(text)
}
