//! Starts a program, and reports whatever can be reported before the system refuses to start it.

use std::{
    fs, io,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

use rustix::io::Errno;

use crate::{At, Input, PERSONS_TOKEN, Program, WORD_BYTES_MAX};

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot start in that directory.
    #[error("cannot start in `{directory}`: {source}")]
    Directory {
        /// The directory in which it was to start.
        directory: String,
        /// What the system answered.
        source: io::Error,
    },
    /// The name or value of a variable is not possible.
    #[error("the variable `{name}` {why}")]
    Variable {
        /// The variable.
        name: String,
        /// What is wrong, starting with the verb.
        why: &'static str,
    },
    /// An argument cannot be passed.
    #[error("argument {number} of `{program}` {why}")]
    Argument {
        /// The program.
        program: String,
        /// The number of the argument, from 1.
        number: usize,
        /// What is wrong, starting with the verb.
        why: &'static str,
    },
    /// Arguments and environment together are too long.
    #[error(
        "arguments and environment are too long together; the longest variable of `env` is \
         `{longest}`: put long texts in a file"
    )]
    TooLong {
        /// The longest variable that was set.
        longest: String,
    },
    /// The system refused to start it.
    #[error("cannot start `{program}`: {source}")]
    System {
        /// The program.
        program: String,
        /// What the system answered.
        source: io::Error,
    },
}

/// Starts `program` as the leader of a new process group.
pub(crate) fn spawn(program: &Program, terminal: Option<At<'_>>) -> Result<Started, StartError> {
    check_directory(program)?;
    check_words(program)?;
    let mut command = Command::new(&program.file);
    command
        .args(&program.arguments)
        .current_dir(&program.directory)
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        // A person's permission to answer is not passed to an agent, whoever started the run and whatever its workflow sets.
        .env_remove(PERSONS_TOKEN)
        .process_group(0);
    let failed = |source| StartError::System {
        program: program.file.display().to_string(),
        source,
    };
    command.stdin(match (&program.input, terminal) {
        (Input::Bytes(_), _) => Stdio::piped(),
        (Input::Rule, Some(at)) => at.terminal().stream().map_err(failed)?,
        (Input::Rule, None) => Stdio::null(),
    });
    let merged = if let Some(At::Owning(terminal)) = terminal {
        command.stdout(terminal.stream().map_err(failed)?);
        command.stderr(terminal.stream().map_err(failed)?);
        None
    } else if program.merged {
        let (reader, writer) = io::pipe().map_err(failed)?;
        command.stdout(writer.try_clone().map_err(failed)?);
        command.stderr(writer);
        Some(reader)
    } else {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        None
    };
    match command.spawn() {
        Ok(child) => Ok(Started { child, merged }),
        Err(error) if error.raw_os_error() == Some(Errno::TOOBIG.raw_os_error()) => {
            Err(StartError::TooLong {
                longest: longest(program),
            })
        }
        Err(error) => Err(failed(error)),
    }
}

/// A started program.
pub(crate) struct Started {
    /// The program.
    pub(crate) child: Child,
    /// The pipe for both of its outputs when they are merged.
    pub(crate) merged: Option<io::PipeReader>,
}

fn check_directory(program: &Program) -> Result<(), StartError> {
    let wrong = |source| StartError::Directory {
        directory: program.directory.display().to_string(),
        source,
    };
    match fs::metadata(&program.directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(wrong(io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(wrong(error)),
    }
}

fn check_words(program: &Program) -> Result<(), StartError> {
    for (name, value) in &program.environment {
        let why = if name.is_empty() || name.contains(['=', '\0']) {
            "has no possible name"
        } else if value.contains('\0') {
            "has a NUL byte in its value"
        } else if name.len() + value.len() + 2 > WORD_BYTES_MAX {
            "is too long for the environment; put its value in a file"
        } else {
            continue;
        };
        return Err(StartError::Variable {
            name: program.written_name(name),
            why,
        });
    }
    for (index, argument) in program.arguments.iter().enumerate() {
        let bytes = argument.as_encoded_bytes();
        let why = if bytes.contains(&0) {
            "has a NUL byte"
        } else if bytes.len() >= WORD_BYTES_MAX {
            "is too long; put it in a file"
        } else {
            continue;
        };
        return Err(StartError::Argument {
            program: program.file.display().to_string(),
            number: index + 1,
            why,
        });
    }
    Ok(())
}

fn longest(program: &Program) -> String {
    program
        .environment
        .iter()
        .max_by_key(|(_, value)| value.len())
        .map_or_else(String::new, |(name, _)| program.written_name(name))
}
