// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda completions` and `zonda man`: completions and manual pages of the command lines of
//! `zonda` and `zondad`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf, is_separator};
use std::process::{self, Stdio};

use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man as Page;
use zonda_program::{Failure, fitted, print, print_lines, write};
use zondad::Zondad;

/// Examples with the places where shells look for completions.
const HELP: &str = "\
Examples:
  zonda completions bash > ~/.local/share/bash-completion/completions/zonda
  zonda completions zsh > ~/.zfunc/_zonda
  zonda completions fish > ~/.config/fish/completions/zonda.fish
  zonda completions zsh zondad > ~/.zfunc/_zondad      for the daemon";

/// Examples for pages.
const READ: &str = "\
Examples:
  zonda man                                   shows the page of zonda, of sub, of the daemon
  zonda man sub
  zonda man zondad
  zonda man --out /usr/local/share/man/man1   writes all pages, for man zonda-sub";

/// A program that has a command line.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Program {
    #[default]
    Zonda,
    Zondad,
}

/// Print what makes a shell complete the command line.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Completions {
    /// The shell
    shell: Shell,
    /// The program whose command line it completes
    #[arg(
        value_name = "PROGRAM",
        default_value = "zonda",
        hide_possible_values = true
    )]
    program: Program,
}

impl Completions {
    /// Prints the script.
    pub fn run(self, zonda: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        let (mut command, name) = match self.program {
            Program::Zonda => (zonda, "zonda"),
            Program::Zondad => (Zondad::command(), "zondad"),
        };
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        write(&script);
        Ok(())
    }
}

/// Show a page of the manual, or write all of them.
#[derive(Args, Clone, Debug)]
#[command(after_help = READ)]
pub struct Man {
    /// A directory for the pages of all commands, such as /usr/local/share/man/man1
    #[arg(value_name = "DIR", long, short)]
    out: Option<PathBuf>,
    /// The command of the page: a sub-command of zonda, such as sub or perf quick, or zondad
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
}

impl Man {
    /// Writes the pages and prints their directory, or shows one.
    pub fn run(self, zonda: Command) -> Result<(), Failure> {
        let earlier = self.directory_by_word(&zonda);
        match self.out.as_deref().or(earlier) {
            Some(directory) => write_pages(directory, zonda),
            None => self.show(zonda),
        }
    }

    /// Returns the directory in `zonda man DIR`, as earlier versions have it for `--out DIR`: a
    /// single word that is a path and no command.
    fn directory_by_word(&self, zonda: &Command) -> Option<&Path> {
        let [word] = self.command.as_slice() else {
            return None;
        };
        let path = Path::new(word);
        let is_path = word.contains(is_separator) || path.is_dir();
        let is_command =
            ["zonda", "zondad"].contains(&word.as_str()) || zonda.find_subcommand(word).is_some();
        (is_path && !is_command).then_some(path)
    }

    /// Shows a page by `man` in a terminal; else prints its source to standard output.
    fn show(&self, zonda: Command) -> Result<(), Failure> {
        let mut command = match self.command.first().map(String::as_str) {
            Some("zondad") => Zondad::command(),
            _ => zonda,
        };
        command.build();
        let words = self.command.iter().filter(|word| *word != "zonda");
        for word in words.filter(|word| *word != "zondad") {
            let found = command.find_subcommand(word).filter(|c| !c.is_hide_set());
            command = found.cloned().ok_or_else(|| {
                Failure::Usage(format!("there is no page for {word}; zonda --help lists the commands, --out DIR writes all pages"))
            })?;
        }
        let mut page = Vec::new();
        Page::new(command.clone()).render(&mut page)?;
        if !io::stdout().is_terminal() {
            write(&page);
        } else if read(&page).is_err() {
            print_lines(format_args!("{}", fitted(command).render_long_help()));
        }
        Ok(())
    }
}

/// Shows a page by the system's `man`.
fn read(page: &[u8]) -> io::Result<()> {
    let mut man = process::Command::new("man");
    let mut man = man.args(["-l", "-"]).stdin(Stdio::piped()).spawn()?;
    // The reader may quit before the end.
    let _ = man.stdin.take().map(|mut input| input.write_all(page));
    match man.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("man failed")),
    }
}

fn write_pages(directory: &Path, zonda: Command) -> Result<(), Failure> {
    let name = directory.display();
    fs::create_dir_all(directory)
        .map_err(|e| Failure::doing(format_args!("cannot make {name}"), e))?;
    for command in [zonda, Zondad::command()] {
        let written = clap_mangen::generate_to(command, directory);
        written.map_err(|e| Failure::doing(format_args!("cannot write the pages in {name}"), e))?;
    }
    print(format_args!(
        "the pages are in {name}; read one with: man {name}/zonda-sub.1"
    ));
    Ok(())
}
