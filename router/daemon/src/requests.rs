// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reactions of the running daemon to signals: it reloads its configuration and users, or prints its
//! state.

use std::time::{Duration, Instant};

use zonda_codec::WhatAmI;
use zonda_program::terminal;
use zonda_router::{
    config::{Config, is_reloaded},
    node::{Node, Reloaded},
};
use zonda_services::Running;

use crate::arguments::DaemonArgs;

/// Key of the log's filter, which this program follows.
const LOG_FILTER: &str = "log/filter";

/// Reloads the configuration, the list of users, and the credentials of services. Returns the lines
/// to print: the warnings about
/// what was reloaded, then the result.
pub(super) fn reload(node: &Node, services: &[Box<dyn Running>], args: &DaemonArgs) -> Vec<String> {
    let mut lines = Vec::new();
    let rules = match args.examine().into_config() {
        Err(problem) => format!("the configuration is not reloaded, the old one stays: {problem}"),
        Ok(config) => match node.reload(&config) {
            Err(error) => format!("the configuration is not reloaded, the old one stays: {error}"),
            Ok(mut reloaded) => {
                follow(&config, &mut reloaded);
                if !reloaded.changed.is_empty() {
                    let warnings = config.warnings().into_iter();
                    let of_these =
                        warnings.filter(|warning| is_reloaded(&warning.key, node.role()));
                    lines.extend(of_these.map(|warning| format!("warning: {warning}")));
                }
                for service in services {
                    if let Err(error) = service.renew(&config) {
                        let name = service.name();
                        lines.push(format!("warning: {name}: the certificate stays: {error}"));
                    }
                }
                result(&reloaded)
            }
        },
    };
    let users = match node.reload_users() {
        Ok(Some(count)) => {
            format!("the list of users was read again, {count} may connect from now on")
        }
        Ok(None) => "there is no list of users to read again".to_owned(),
        Err(error) => format!("the list of users is not read again, the old one stays: {error}"),
    };
    for service in services {
        let name = service.name();
        lines.extend(service.reload_credentials().map(|reloaded| match reloaded {
            Ok(count) => {
                format!("{name}: the credentials were read again, {count} count from now on")
            }
            Err(error) => format!("warning: {name}: the old credentials stay: {error}"),
        }));
    }
    lines.push(format!("SIGHUP: {rules}; {users}"));
    lines
}

/// Logs as the configuration has it from now on.
fn follow(config: &Config, reloaded: &mut Reloaded) {
    let is_changed = reloaded.changed.iter().any(|key| key == LOG_FILTER);
    let filter = config.settings().log_filter;
    if is_changed && !terminal::follow(filter.as_deref()).unwrap_or_default() {
        reloaded.changed.retain(|key| key != LOG_FILTER);
        reloaded.needs_restart.push(LOG_FILTER.to_owned());
    }
}

/// Returns the result of a reload in words.
fn result(reloaded: &Reloaded) -> String {
    let mut parts = Vec::new();
    parts.push(match reloaded.changed.is_empty() {
        true => "nothing new to take over".to_owned(),
        false => format!("in force now: {}", reloaded.changed.join(", ")),
    });
    match reloaded.certificates {
        0 => {}
        1 => parts.push("1 listener has read its certificates again".to_owned()),
        more => parts.push(format!(
            "{more} listeners have read their certificates again"
        )),
    }
    if !reloaded.needs_restart.is_empty() {
        let keys = reloaded.needs_restart.join(", ");
        parts.push(format!("changed, but in force after a restart: {keys}"));
    }
    if reloaded.routers > 0 {
        parts.push(format!(
            "what {} routers have declared so far stays declared; their messages follow the new rules",
            reloaded.routers
        ));
    }
    if reloaded.forgotten > 0 {
        parts.push(format!(
            "{} neighbours have to connect again, because too many of their declarations were refused before",
            reloaded.forgotten
        ));
    }
    parts.join("; ")
}

/// Returns the state of a node in one line.
pub(super) fn report(node: &Node, since: Instant) -> String {
    let links = node.links();
    let count = |role: WhatAmI| links.iter().filter(|link| link.whatami == role).count();
    let usage = node.usage();
    let refused: u64 = node.turned_away().iter().map(|reason| reason.count).sum();
    let listening: Vec<String> = node.locators().iter().map(ToString::to_string).collect();
    format!(
        "SIGUSR1: {} {}, up {}, listening on {}; links: {} to routers, {} to peers, {} to clients; connections refused: \
         {refused}; slow consumers closed: {}; memory: {} of {} bytes",
        node.role(),
        node.zid(),
        span(since.elapsed()),
        if listening.is_empty() {
            "nothing".to_owned()
        } else {
            listening.join(", ")
        },
        count(WhatAmI::Router),
        count(WhatAmI::Peer),
        count(WhatAmI::Client),
        node.slow_consumers(),
        usage.held,
        usage.budget,
    )
}

fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min"),
        3_600..86_400 => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_names_what_is_in_force_and_what_is_not() {
        let mut reloaded = Reloaded::default();
        assert_eq!(result(&reloaded), "nothing new to take over");
        reloaded.changed = vec!["qos/network".into(), "low_pass_filter".into()];
        reloaded.needs_restart = vec!["mode".into()];
        assert_eq!(
            result(&reloaded),
            "in force now: qos/network, low_pass_filter; changed, but in force after a restart: mode"
        );
    }

    #[test]
    fn times_are_short() {
        for (seconds, text) in [
            (3, "3 s"),
            (61, "1 min"),
            (7_500, "2 h 5 min"),
            (180_000, "2 d 2 h"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
