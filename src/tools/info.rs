// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda info`: what this program is, and with connection flags, whom it reaches.

use clap::Args;
use serde_json::{Value, json};
use zonda::Wait;
use zonda::config::RuntimeKind;

use crate::arguments::{Connection, Failure, print};

/// Show what this program is and, with -e or -l, whom its node is connected to.
#[derive(Args, Clone, Debug)]
pub struct Info {
    #[command(flatten)]
    connection: Connection,
}

impl Info {
    /// Shows it.
    pub fn run(self) -> Result<(), Failure> {
        let runtimes: Vec<String> = RuntimeKind::available().map(|r| r.to_string()).collect();
        let mut facts = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "protocol": format!("zenoh 0x{:02x}", zonda_codec::PROTOCOL_VERSION),
            "rustc": env!("ZONDA_RUSTC"),
            "profile": env!("ZONDA_PROFILE"),
            "runtimes": runtimes,
            "runtime": self.runtime()?,
        });
        if !self.connection.connect.is_empty() || !self.connection.listen.is_empty() {
            let session = self.connection.open()?;
            let info = session.info();
            facts["runtime"]["runs"] = json!(info.runtime());
            facts["zid"] = json!(session.zid().to_string());
            facts["listening"] = json!(
                info.locators()
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            );
            facts["links"] = info
                .links()
                .iter()
                .map(|l| {
                    json!({
                        "zid": l.zid.to_string(),
                        "role": l.whatami.to_string(),
                        "local": l.local.to_string(),
                        "remote": l.remote.to_string(),
                        "options": l.options.names(),
                    })
                })
                .collect();
            facts["unreached"] = info
                .unreached()
                .iter()
                .map(|u| json!({"endpoint": u.endpoint.to_string(), "why": u.reason}))
                .collect();
            session.close().wait()?;
        }
        if self.connection.json {
            print(format_args!("{facts}"));
        } else {
            print(format_args!("{facts:#}"));
        }
        Ok(())
    }

    /// Which runtime a node runs on with this configuration, and why.
    fn runtime(&self) -> Result<Value, Failure> {
        let config = self.connection.to_config()?;
        let asked = config.runtime_kind();
        let (runs, why) = match asked.effective() {
            Ok((_, Some(refusal))) if config.runtime_options().uring_required => (None, refusal),
            Ok((runs, Some(refusal))) => (Some(runs), refusal),
            Ok((runs, None)) if config.is_set("runtime") => (Some(runs), "asked for".to_owned()),
            Ok((runs, None)) => (Some(runs), "the default of this program".to_owned()),
            Err(error) => (None, error.to_string()),
        };
        Ok(json!({
            "asked": asked.name(),
            "runs": runs.map(RuntimeKind::name),
            "why": why,
        }))
    }
}
