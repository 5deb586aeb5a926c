//! Settings of counting: which counter, which limits, where a worker and a cache are.

use std::path::PathBuf;
use std::time::Duration;

/// Which of the two counters answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// The one that is likely to be faster, and the other one if it fails.
    #[default]
    Auto,
    /// Faulhaber summation only.
    Faulhaber,
    /// Barvinok only.
    Barvinok,
}

impl Counter {
    /// Its name in `DASTAC_COUNTER`.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Auto => "auto",
            Counter::Faulhaber => "faulhaber",
            Counter::Barvinok => "barvinok",
        }
    }
}

/// Names the counter: `auto`, `faulhaber` or `barvinok`.
pub const COUNTER_VARIABLE: &str = "DASTAC_COUNTER";
/// Names the time that one count may take, in seconds.
pub const TIME_VARIABLE: &str = "DASTAC_COUNT_SECONDS";
/// Names the memory that one worker may take, in MiB.
pub const MEMORY_VARIABLE: &str = "DASTAC_COUNT_MEMORY";
/// Names the program that is started as a worker, or `off`.
pub const WORKER_VARIABLE: &str = "DASTAC_COUNT_WORKER";
/// Names the folder of the cache, or `off`.
pub const CACHE_VARIABLE: &str = "DASTAC_CACHE";

/// How counting is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which counter answers.
    pub counter: Counter,
    /// The time that one count may take: Barvinok in a worker, and Faulhaber summation anywhere. Barvinok without a
    /// worker has no limit.
    pub time: Duration,
    /// The memory that a worker may take, in bytes. Watched on Linux only.
    pub memory: u64,
    /// The program that counts with Barvinok when its first argument is `count-worker` (it calls [`super::serve`]).
    /// Without one, Barvinok is called in this process.
    pub worker: Option<PathBuf>,
    /// How many workers run at the same time; more threads than that wait.
    pub workers: usize,
    /// The folder in which answers are kept from run to run.
    pub cache: Option<PathBuf>,
    /// Only answers that took so long are kept there.
    pub cache_after: Duration,
}

impl Default for Config {
    /// No worker, and no cache on disk.
    fn default() -> Config {
        Config {
            counter: Counter::Auto,
            time: Duration::from_secs(30),
            memory: 4 << 30,
            worker: None,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            cache: None,
            cache_after: Duration::from_millis(5),
        }
    }
}

impl Config {
    /// The defaults of a program that is a worker itself (`worker` is the path of the program): with the user's cache
    /// (`$XDG_CACHE_HOME/dastac`, else `~/.cache/dastac`).
    pub fn of_program(worker: Option<PathBuf>) -> Config {
        let folder = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let cache = folder("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| folder("HOME").map(|home| home.join(".cache")))
            .map(|path| path.join("dastac"));
        Config { worker, cache, ..Config::default() }
    }

    /// With what the environment's variables say (the constants of this module).
    ///
    /// # Errors
    /// Says which variable has a value that means nothing.
    pub fn with_env(self) -> Result<Config, String> {
        self.with(|name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(|value| value.to_string_lossy().into_owned())
        })
    }

    fn with(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Config, String> {
        if let Some(name) = variable(COUNTER_VARIABLE) {
            let all = [Counter::Auto, Counter::Faulhaber, Counter::Barvinok];
            let named = all.into_iter().find(|counter| counter.name() == name);
            self.counter = named.ok_or_else(|| {
                format!("{COUNTER_VARIABLE} must be auto, faulhaber or barvinok, not `{name}`")
            })?;
        }
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.parse::<u32>() {
                Ok(number) if number > 0 => Ok(Some(u64::from(number))),
                _ => Err(format!("{name} must be a whole number above 0, not `{text}`")),
            },
        };
        if let Some(seconds) = number(TIME_VARIABLE)? {
            self.time = Duration::from_secs(seconds);
        }
        if let Some(mebibytes) = number(MEMORY_VARIABLE)? {
            self.memory = mebibytes << 20;
        }
        let path = |name: &str, default: Option<PathBuf>| match variable(name) {
            None => default,
            Some(off) if off == "off" => None,
            Some(path) => Some(path.into()),
        };
        self.worker = path(WORKER_VARIABLE, self.worker);
        self.cache = path(CACHE_VARIABLE, self.cache);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Config, String> {
        Config::of_program(Some("dastac".into()))
            .with(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn variables_are_read() {
        assert_eq!(with(COUNTER_VARIABLE, "faulhaber").unwrap().counter, Counter::Faulhaber);
        assert_eq!(with(TIME_VARIABLE, "7").unwrap().time, Duration::from_secs(7));
        assert_eq!(with(MEMORY_VARIABLE, "512").unwrap().memory, 512 << 20);
        assert_eq!(with(WORKER_VARIABLE, "off").unwrap().worker, None);
        assert_eq!(with(WORKER_VARIABLE, "/x").unwrap().worker, Some("/x".into()));
        assert_eq!(with(CACHE_VARIABLE, "off").unwrap().cache, None);
        assert_eq!(with(CACHE_VARIABLE, "/y").unwrap().cache, Some("/y".into()));
        assert_eq!(with("OTHER", "?").unwrap().worker, Some("dastac".into()));
    }

    #[test]
    fn values_that_mean_nothing_are_named() {
        for (name, value) in [
            (COUNTER_VARIABLE, "Barvinok"),
            (TIME_VARIABLE, "0"),
            (TIME_VARIABLE, "1s"),
            (MEMORY_VARIABLE, "-1"),
        ] {
            let error = with(name, value).unwrap_err();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
