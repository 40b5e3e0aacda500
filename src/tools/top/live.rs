// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of `zonda top` that stays in place in a terminal.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};
use zonda_program::{Failure, Interrupt};

use super::rows::{COLUMNS, FULLEST, is_text, sort};
use super::{Asker, View, span};

/// Time within which a key or a new answer is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Widths of the columns.
const WIDTHS: [u16; COLUMNS.len()] = [8, 6, 9, 9, 9, 9, 6, 8, 7, 9, 48];

/// Returns true if there is a terminal to draw in and to take keys from.
pub fn is_possible() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// The terminal, which is as it was before once this is dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// State of the screen.
#[derive(Debug)]
struct Screen {
    view: Option<View>,
    silent_since: Option<Instant>,
    column: usize,
    is_reversed: bool,
    is_paused: bool,
    says_why: bool,
}

impl Screen {
    fn new(says_why: bool) -> Self {
        Screen {
            view: None,
            silent_since: None,
            column: FULLEST,
            is_reversed: false,
            is_paused: false,
            says_why,
        }
    }

    /// Takes an answer, or the lack of one.
    fn take(&mut self, answer: Option<View>) {
        match answer {
            Some(_) if self.is_paused => {}
            Some(view) => (self.view, self.silent_since) = (Some(view), None),
            None => {
                self.silent_since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Handles a key; returns true if the user leaves.
    fn press(&mut self, key: KeyEvent) -> bool {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_ctrl => return true,
            KeyCode::Char('q') => return true,
            KeyCode::Char('s') => self.column = (self.column + 1) % COLUMNS.len(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            _ => {}
        }
        false
    }

    fn draw(&mut self, frame: &mut Frame) {
        let why_lines = if self.says_why { 3 } else { 0 };
        let parts = [
            Constraint::Length(3),
            Constraint::Min(1),
            Constraint::Length(why_lines),
        ];
        let [head, body, foot] = Layout::vertical(parts).areas(frame.area());
        let mut header = match &self.view {
            Some(view) => view.header(),
            None => "waiting for the first answers".to_owned(),
        };
        if let Some(since) = self.silent_since {
            let silent = span(since.elapsed().as_secs_f64());
            header = format!("NO ANSWER for {silent}, asking on; {header}");
        }
        if self.is_paused {
            header = format!("PAUSED; {header}");
        }
        frame.render_widget(Paragraph::new(header).wrap(Wrap { trim: true }), head);
        let Some(view) = &mut self.view else { return };
        sort(&mut view.rows, self.column, self.is_reversed);
        let aligned = |column: usize, text: String| match is_text(column) {
            true => Cell::from(Line::from(text)),
            false => Cell::from(Line::from(text).right_aligned()),
        };
        let rows = view.rows.iter().map(|row| {
            let cells = row.cells().into_iter().enumerate();
            let line = TableRow::new(cells.map(|(column, text)| aligned(column, text)));
            if row.is_slow() { line.bold() } else { line }
        });
        let titles = COLUMNS.iter().enumerate().map(|(column, name)| {
            let cell = aligned(column, (*name).to_owned());
            if column == self.column {
                cell.reversed()
            } else {
                cell
            }
        });
        // The last columns give way on a narrow terminal.
        let mut left = body.width;
        let widths = WIDTHS.map(|width| {
            let width = width.min(left);
            left = left.saturating_sub(width + 1);
            width
        });
        let widths = widths.into_iter().filter(|width| *width > 0);
        let table = Table::new(rows, widths.map(Constraint::Length));
        frame.render_widget(table.header(TableRow::new(titles).underlined()), body);
        let why = Paragraph::new(view.why.as_str()).wrap(Wrap { trim: true });
        frame.render_widget(why, foot);
    }
}

/// Shows the table until the user leaves.
pub fn run(
    asker: Asker<'_>,
    interval: Duration,
    says_why: bool,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (answer, answers) = channel();
    thread::scope(|scope| {
        // The asker sees the end of its receiver, or of the program, at its next answer.
        scope.spawn(move || {
            let mut asker = asker;
            while !interrupt.wait_until(Instant::now() + interval) {
                if answer.send(asker.next().ok()).is_err() {
                    return;
                }
            }
        });
        let shown = show(&answers, says_why, interrupt);
        drop(answers);
        interrupt.raise();
        shown
    })
}

fn show(
    answers: &Receiver<Option<View>>,
    says_why: bool,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    // Before the terminal changes, so that a failure in between restores it, too.
    let _restored = Restored;
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen::new(says_why);
    while !interrupt.happened() {
        answers.try_iter().for_each(|answer| screen.take(answer));
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(NOTICE)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
            && screen.press(key)
        {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::top::rows::Row;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen() -> Screen {
        let row = Row {
            zid: "a1b2c3d4e5f6".to_owned(),
            address: "tcp/10.0.0.1:7447".to_owned(),
            ..Row::default()
        };
        let mut screen = Screen::new(true);
        screen.take(Some(View {
            router: "7f".to_owned(),
            rows: vec![row; 300],
            up_s: Some(61.0),
            memory: 1,
            memory_budget: 2,
            sessions: 300,
            sessions_max: 1000,
            why: "nothing stalls".to_owned(),
        }));
        screen
    }

    fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| screen.draw(frame)).expect("drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn every_size_of_terminal_is_drawn() {
        for (width, height) in [(80, 24), (40, 10), (200, 50)] {
            let text = drawn(&mut screen(), width, height);
            for part in ["router 7f", "nothing stalls"] {
                assert!(text.contains(part), "{width}x{height}: {text}");
            }
        }
        assert!(drawn(&mut screen(), 80, 24).contains("a1b2c3d4"));
        assert!(drawn(&mut screen(), 200, 50).contains("tcp/10.0.0.1:7447"));
        drawn(&mut screen(), 1, 1);
    }

    #[test]
    fn a_silent_router_is_said_and_keys_change_the_order() {
        let mut screen = screen();
        screen.take(None);
        assert!(drawn(&mut screen, 80, 24).contains("NO ANSWER for "));
        let mut press = |code, modifiers| screen.press(KeyEvent::new(code, modifiers));
        for key in "srp".chars() {
            assert!(!press(KeyCode::Char(key), KeyModifiers::NONE));
        }
        assert!(press(KeyCode::Char('q'), KeyModifiers::NONE));
        assert!(press(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(screen.column, FULLEST + 1);
        assert!(screen.is_reversed && screen.is_paused);
    }
}
