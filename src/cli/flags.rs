//! The flags of the settings, made from the table of settings itself.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{KEYS, Sources};

/// What the flags of a command line set: key and texts.
#[derive(Clone, Debug, Default)]
pub(super) struct SettingFlags(Vec<(&'static str, Vec<String>)>);

impl SettingFlags {
    /// Everything that settings come from: these flags, the environment, and a settings file of the working folder.
    pub(super) fn sources(self, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Sources {
        let ours = environment
            .into_iter()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"TOLLGATE_"))
            .map(|(name, text)| (name.to_string_lossy().into_owned(), text.to_string_lossy().into_owned()))
            .collect();
        Sources { flags: self.0, environment: ours, folder: Some("".into()), policy: None }
    }

    /// Adds these flags to sources; a flag behind the subcommand's name wins over one before it.
    pub(super) fn add_to(&self, sources: &mut Sources) {
        sources.flags.retain(|(key, _)| self.0.iter().all(|(ours, _)| ours != key));
        sources.flags.extend(self.0.iter().cloned());
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let flags = KEYS.iter().filter_map(|key| Some((key, key.flag?)));
        flags.fold(command, |command, (key, flag)| {
            let arg = Arg::new(key.name).long(flag.name).help(key.meaning).help_heading("Settings");
            command.arg(match (flag.value, flag.repeated) {
                ("", _) => arg.action(ArgAction::SetTrue),
                (value, true) => arg.value_name(value).action(ArgAction::Append),
                (value, false) => arg.value_name(value).action(ArgAction::Set),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = KEYS.iter().filter_map(|key| {
            let flag = key.flag?;
            let texts = if flag.value.is_empty() {
                matches.get_flag(key.name).then(|| vec!["true".to_owned()])?
            } else {
                matches.get_many::<String>(key.name)?.cloned().collect()
            };
            Some((key.name, texts))
        });
        self.0 = given.collect();
        Ok(())
    }
}
