// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of the configuration: the key table against the reference's, strictness, roles.

use std::time::Duration;

use crate::{
    Config, ConfigError, Flag, Sources, TimeLimit, json5, keys,
    kind::{Kind, Support},
    rows::ROWS,
    value::Value,
};
use zonda_codec::{Priority, WhatAmI};
use zonda_runtime::{RuntimeKind, RuntimeOptions, Scheduling};
use zonda_transport::link::SocketBuffers;

/// Every key of the reference's default configuration with its value there, tab-separated.
const REFERENCE: &str = include_str!("reference_keys.txt");

/// Keys that the reference knows in addition to those.
const REFERENCE_OPTIONAL: &[&str] = &[
    "id",
    "namespace",
    "routing/router/peers_failover_brokering",
    "routing/router/linkstate/transport_weights",
    "routing/peer",
    "aggregation/subscribers",
    "aggregation/publishers",
    "qos/publication",
    "qos/network",
    "downsampling",
    "low_pass_filter",
    "stats/filters",
    "access_control/enabled",
    "access_control/default_permission",
    "access_control/rules",
    "access_control/subjects",
    "access_control/policies",
    "transport/link/protocols",
    "transport/link/tx/threads",
    "transport/link/tcp/so_sndbuf",
    "transport/link/tcp/so_rcvbuf",
    "transport/link/unixpipe/file_access_mask",
    "transport/link/tls/so_sndbuf",
    "transport/link/tls/so_rcvbuf",
    "transport/link/tls/root_ca_certificate_base64",
    "transport/link/tls/listen_private_key_base64",
    "transport/link/tls/listen_certificate_base64",
    "transport/link/tls/connect_private_key_base64",
    "transport/link/tls/connect_certificate_base64",
    "plugins_loading/enabled",
    "plugins_loading/search_dirs",
    "plugins",
];

/// Keys of this project in sections of the reference.
const OURS: &[&str] = &[
    "transport/link/ws/origins",
    "transport/auth/usrpwd/send_to",
    "transport/auth/usrpwd/ids",
    "transport/auth/usrpwd/dictionary_file_mode",
    "access_control/mode",
    "access_control/multicast",
    "routing/router/trusted",
    "transport/shared_memory/trust",
];

fn reference() -> impl Iterator<Item = (&'static str, &'static str)> {
    REFERENCE.lines().filter_map(|line| line.split_once('\t'))
}

#[test]
fn every_key_of_the_reference_is_in_the_table_with_its_default() {
    for (path, default) in reference() {
        let key = keys::find(path).unwrap_or_else(|| panic!("{path} is not in the table"));
        let ours = json5::parse(key.default).unwrap().value.to_string();
        let theirs = json5::parse(default).unwrap().value.to_string();
        assert_eq!(ours, theirs, "default of {path}");
    }
    for path in REFERENCE_OPTIONAL {
        assert!(keys::find(path).is_some(), "{path} is not in the table");
    }
    // Keys of this project are in sections of their own, or in the list above.
    let is_ours = |path: &str| {
        [
            "runtime",
            "limits/",
            "isolation/",
            "log/",
            "services/",
            "close_timeout_ms",
        ]
        .iter()
        .any(|section| path.starts_with(section))
            || OURS.contains(&path)
    };
    let is_theirs = |path: &str| {
        reference().any(|(known, _)| known == path) || REFERENCE_OPTIONAL.contains(&path)
    };
    let unknown = ROWS.iter().map(|key| key.path);
    let unknown: Vec<_> = unknown
        .filter(|path| !is_ours(path) && !is_theirs(path))
        .collect();
    assert_eq!(unknown, [""; 0], "not the reference's, not in OURS");
}

#[test]
fn every_default_is_valid_for_its_own_key_and_no_key_is_listed_twice() {
    for (i, key) in ROWS.iter().enumerate() {
        Config::default()
            .insert_json5(key.path, key.default)
            .unwrap();
        assert!(
            ROWS.iter().skip(i + 1).all(|k| k.path != key.path),
            "{} twice",
            key.path
        );
        assert!(
            !keys::is_section(key.path),
            "{} is a key and a section",
            key.path
        );
    }
}

#[test]
fn the_reference_s_whole_default_configuration_is_accepted() {
    let mut config = Config::default();
    for (path, value) in reference() {
        config.insert_json5(path, value).unwrap();
    }
    let warned: Vec<String> = config.warnings().into_iter().map(|w| w.key).collect();
    let expected: &[&str] = match zonda_transport::protocol::shared::AVAILABLE {
        true => &[],
        false => &[
            "transport/shared_memory/enabled",
            "transport/shared_memory/transport_optimization/enabled",
        ],
    };
    assert_eq!(warned, expected);
}

#[test]
fn no_key_is_silently_ignored() {
    let other = |default: &Value, kind: Kind| -> Vec<String> {
        use Kind::*;
        match kind.of_one_role() {
            PerRole(_) => Vec::new(),
            Bool => vec![(*default != Value::Bool(true)).to_string()],
            Whole { min, max } => {
                let n = if *default == Value::Number(3.0) { 4 } else { 3 };
                vec![n.clamp(min.max(3), max).max(min).to_string()]
            }
            Factor => vec!["3".into()],
            Text | RegionName => vec!["'north'".into()],
            Runtime => vec![format!("'{}'", last_runtime())],
            KeyText => vec!["'a/b'".into()],
            Id => vec!["'a1'".into()],
            Cpus => vec!["[0]".into()],
            Trusted => vec!["[{users: ['uplink']}]".into()],
            UserIds => vec!["[{user: 'ann', zids: ['a1']}]".into()],
            Weights => vec!["[{dst_zid: 'a1', weight: 7}]".into()],
            Downsampling => {
                vec!["[{messages: ['put'], rules: [{key_expr: 'a', freq: 1}]}]".into()]
            }
            LowPass => vec!["[{messages: ['put'], key_exprs: ['a'], size_limit: 1}]".into()],
            AccessRules => {
                vec!["[{id: 'r', permission: 'deny', messages: ['put'], key_exprs: ['a']}]".into()]
            }
            AccessSubjects => vec!["[{id: 's', usernames: ['u']}]".into()],
            AccessPolicies => vec!["[{rules: ['r'], subjects: ['s']}]".into()],
            Publications => vec!["[{key_exprs: ['a'], config: {express: true}}]".into()],
            Network => vec!["[{messages: ['put'], overwrite: {express: true}}]".into()],
            Scheduling => vec!["'nice:1'".into()],
            KeyExprs => vec!["['a/**']".into()],
            Texts | Roles => vec!["['peer']".into()],
            Endpoints => vec!["['tcp/1.2.3.4:5']".into()],
            Choice(names) => names.iter().map(|n| format!("'{n}'")).collect(),
            Tree => vec!["[1]".into()],
        }
    };
    for key in ROWS {
        let default = json5::parse(key.default).unwrap().value;
        for value in other(&default, key.kind) {
            let mut config = Config::default();
            config
                .insert_json5(key.path, &value)
                .unwrap_or_else(|e| panic!("{}: {e}", key.path));
            let is_default = json5::parse(&value).unwrap().value.to_string() == default.to_string();
            let warned = !config.warnings().is_empty();
            let honoured = matches!(key.support, Support::Full)
                || matches!(key.support, Support::Only(v, _) if v == value);
            assert_eq!(warned, !honoured && !is_default, "{} = {value}", key.path);
        }
    }
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_valid_one() {
    let nearest = |key: &str| match Config::default().set_json5(key, "1") {
        Err(ConfigError::UnknownKey { nearest, .. }) => nearest.unwrap_or_default(),
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(nearest("connect/endpoint"), "connect/endpoints");
    assert_eq!(nearest("conect/endpoints"), "connect/endpoints");
    assert_eq!(
        nearest("transport/unicast/lowlatancy"),
        "transport/unicast/lowlatency"
    );
    assert_eq!(
        nearest("scouting/multicats/enabled"),
        "scouting/multicast/enabled"
    );
    assert_eq!(nearest("lease"), "transport/link/tx/lease");
    assert_eq!(nearest("mod"), "mode");
    assert_eq!(nearest("listn"), "listen");
    assert_eq!(nearest("quite/another/thing"), "");
}

#[test]
fn errors_name_the_line_and_what_to_try() {
    let said = |text: &str| Config::from_json5(text).unwrap_err().to_string();
    assert_eq!(
        said("{\n  mode: 'client',\n  connect: {\n    endpoint: []\n  }\n}"),
        "line 4: unknown key `connect/endpoint`; did you mean `connect/endpoints`?"
    );
    assert_eq!(
        said("{\n  mode: 'pear'\n}"),
        "line 2: `mode` is \"pear\", expected one of router, peer, client"
    );
    assert_eq!(
        said("{ transport: { link: { tx: { batch_size: 70000 } } } }"),
        "line 1: `transport/link/tx/batch_size` is 70000, expected a whole number from 64 to 65535"
    );
    assert_eq!(
        said("{ connect: { timeout_ms: { peer: -1, router: 'x' } } }"),
        "line 1: `connect/timeout_ms` is \"x\" for router, expected a whole number from 0, or -1 for no limit"
    );
    assert_eq!(
        said("{\n  mode: peer }"),
        "line 2, column 9: this is not a value; write texts in quotes"
    );
    assert_eq!(
        said("[]"),
        "line 1: `the configuration` is a list, expected an object with keys"
    );
    let bad = said("{ connect: { endpoints: ['tcp:1.2.3.4'] } }");
    assert!(
        bad.starts_with("line 1: `connect/endpoints` is \"tcp:1.2.3.4\", expected an endpoint:"),
        "{bad}"
    );
    let bad = said("{ runtime: 'tokyo' }");
    assert!(
        bad.contains("`runtime` is \"tokyo\"") && bad.contains(last_runtime().name()),
        "{bad}"
    );
}

#[test]
fn warnings_name_the_line() {
    let config = Config::from_json5(
        "{\n  plugins: { rest: {} },\n\n  transport: { link: { tx: { threads: 3 } } }\n}",
    )
    .unwrap();
    let said: Vec<String> = config.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "line 2: `plugins`: {\"rest\":{}} has no effect: no plugin is loaded",
            "line 4: `transport/link/tx/threads`: 3 has no effect: messages are written by those who send them; set runtime_threads for the rest",
        ]
    );
}

#[test]
fn defaults_follow_the_role() {
    let peer = Config::default();
    assert_eq!(peer.mode(), WhatAmI::Peer);
    assert_eq!(
        peer.settings()
            .listen_endpoints
            .iter()
            .map(|e| e.to_string())
            .collect::<Vec<_>>(),
        ["tcp/[::]:0"]
    );
    assert_eq!(peer.settings().connect_timeout, TimeLimit::Forever);
    assert!(
        peer.settings()
            .listen_must_succeed(&peer.settings().listen_endpoints[0])
    );
    assert!(!peer.settings().timestamping);

    let client = Config::client(["tcp/127.0.0.1:7447"]);
    assert!(client.settings().listen_endpoints.is_empty());
    assert_eq!(client.settings().connect_endpoints().count(), 1);
    assert_eq!(client.settings().connect_timeout, TimeLimit::Once);

    let router = Config::router();
    assert_eq!(
        router
            .settings()
            .listen_endpoints
            .iter()
            .map(|e| e.to_string())
            .collect::<Vec<_>>(),
        ["tcp/[::]:7447"]
    );
    assert!(router.settings().timestamping);

    assert_eq!(router.settings().lease, Duration::from_secs(10));
    assert_eq!(router.settings().keep_alive_divisor, 4);
    assert_eq!(router.settings().batch_size, 65535);
    assert_eq!(router.settings().max_message_size, 1 << 30);
    assert_eq!(router.settings().wait_before_close, Duration::from_secs(5));
    assert_eq!(router.settings().max_sessions, 1000);
    assert_eq!(
        router.settings().resolution,
        zonda_codec::Resolution::default()
    );
    assert_eq!(router.settings().accept_pending, None);
    assert_eq!(
        router.settings().connect_retry().period_max,
        Duration::from_secs(4)
    );
    assert_eq!(
        router.settings().listen_retry(),
        router.settings().connect_retry()
    );
    assert_eq!(router.settings().listen_timeout, TimeLimit::Once);
    assert!(router.settings().qos_enabled);
    assert_eq!(router.settings().runtime_kind, RuntimeKind::default());
}

/// Returns a runtime that is compiled in, if possible not the default.
fn last_runtime() -> RuntimeKind {
    RuntimeKind::available().last().expect("one is compiled in")
}

#[test]
fn the_runtime_is_told_how_to_start() {
    assert_eq!(
        Config::default().settings().runtime_options(),
        RuntimeOptions::default()
    );
    let config = Config::default()
        .with("runtime_threads", "3")
        .with("runtime_cpus", "[0, 5]")
        .with("runtime_scheduling", "'round-robin:20'")
        .with("runtime_uring_required", "true")
        .with("runtime_spin_us", "250");
    config.validate().unwrap();
    let expected = RuntimeOptions {
        threads: Some(3),
        cpus: vec![0, 5],
        scheduling: Scheduling::RoundRobin(20),
        uring_required: true,
        spin: Duration::from_micros(250),
        ..RuntimeOptions::default()
    };
    assert_eq!(config.settings().runtime_options(), expected);
    for (key, bad, word) in [
        ("runtime_cpus", "[-1]", "a list of cpus such as [0, 1]"),
        ("runtime_cpus", "[0.5]", "a list of cpus"),
        ("runtime_cpus", "2", "a list of cpus"),
        ("runtime_scheduling", "'fifo:100'", "fifo:1 to fifo:99"),
        ("runtime_scheduling", "7", "nice:-20 to nice:19"),
        ("runtime_uring_required", "'yes'", "true or false"),
        ("runtime_spin_us", "-1", "0 to 10000000"),
        ("runtime_spin_us", "10000001", "0 to 10000000"),
        ("runtime_spin_us", "'fast'", "0 to 10000000"),
    ] {
        let error = Config::default().insert_json5(key, bad).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn values_by_role_take_the_role_s_own_or_the_default() {
    let config = Config::default()
        .with("timestamping/enabled", "{ peer: true }")
        .with("listen/endpoints", "{ router: ['tcp/[::]:1'] }")
        .with("connect/timeout_ms", "{ client: 250 }");
    config.validate().unwrap();
    assert!(config.settings().timestamping);
    assert!(config.settings().listen_endpoints.is_empty());
    assert_eq!(config.settings().connect_timeout, TimeLimit::Forever);
    let client = config.with_mode(WhatAmI::Client);
    assert!(!client.settings().timestamping);
    assert_eq!(
        client.settings().connect_timeout,
        TimeLimit::For(Duration::from_millis(250))
    );
}

#[test]
fn endpoints_may_differ_from_the_keys() {
    let endpoint = |text: &str| crate::parse_endpoint(text).unwrap();
    let plain = endpoint("tcp/h:1");
    let (must, may) = (
        endpoint("tcp/h:1#exit_on_failure=true"),
        endpoint("tcp/h:1#exit_on_failure=false"),
    );
    let peer = Config::default()
        .with("connect/exit_on_failure", "{ peer: true, client: false }")
        .with("listen/exit_on_failure", "false")
        .with("listen/retry", "{ period_init_ms: 5 }")
        .with("listen/timeout_ms", "{ peer: 70 }");
    peer.validate().unwrap();
    assert!(peer.warnings().is_empty());
    assert!(
        peer.settings().connect_must_succeed(&plain) && !peer.settings().connect_must_succeed(&may)
    );
    assert!(
        !peer.settings().listen_must_succeed(&plain) && peer.settings().listen_must_succeed(&must)
    );
    assert_eq!(
        peer.settings().listen_retry().period_init,
        Duration::from_millis(5)
    );
    assert_eq!(
        peer.settings().connect_retry().period_init,
        Duration::from_secs(1)
    );
    let limit = TimeLimit::For(Duration::from_millis(70));
    assert_eq!(peer.settings().listen_timeout, limit);
    assert!(limit.allows(Duration::from_millis(69)) && !limit.allows(Duration::from_millis(70)));
    assert!(TimeLimit::Forever.allows(Duration::MAX) && !TimeLimit::Once.allows(Duration::ZERO));
    let client = peer.with_mode(WhatAmI::Client);
    assert!(
        !client.settings().connect_must_succeed(&plain)
            && client.settings().connect_must_succeed(&must)
    );
    assert_eq!(client.settings().listen_timeout, TimeLimit::Once);
}

#[test]
fn malformed_endpoints_are_refused_with_their_key() {
    for (bad, words) in [
        ("tcp/127.0.0.1", "has no port"),
        ("tcp/127.0.0.1:70000", "0..=65535"),
        ("tcp/:7447", "has no host"),
        ("tcp/::1:7447", "without brackets"),
        ("tcp/h:1#so_rcvbuf=-1", "so_rcvbuf=-1"),
        ("tcp/h:1#retry_period_init_ms=x", "retry_period_init_ms=x"),
        ("tcp/h:1#exit_on_failure=maybe", "exit_on_failure"),
    ] {
        for key in ["connect/endpoints", "listen/endpoints"] {
            for value in [
                format!("['{bad}']"),
                format!("{{ peer: ['tcp/h:1', '{bad}'] }}"),
                format!("[{{ strategy: 'oneOf', locators: ['{bad}'] }}]"),
            ] {
                let error = Config::default().insert_json5(key, &value).unwrap_err();
                let text = error.to_string();
                assert!(text.contains(key) && text.contains(bad), "{text}");
                assert!(text.contains(words) && !text.contains('\n'), "{text}");
            }
        }
    }
    // This build has no such protocol; opening the node fails with it.
    assert!(crate::parse_endpoint("bluetooth/somewhere").is_ok());
}

#[test]
fn of_a_group_one_or_all_are_connected_to() {
    let groups = |mode: &str| -> Vec<usize> {
        let list = "['tcp/a:1', {strategy: 'allOf', locators: ['tcp/b:1', 'tcp/c:1']}, \
                    {strategy: 'oneOf', locators: ['tcp/d:1', 'tcp/e:1']}]";
        let config = Config::default()
            .with("mode", mode)
            .with("connect/endpoints", list);
        config.validate().unwrap();
        assert!(config.warnings().is_empty());
        assert_eq!(config.settings().connect_endpoints().count(), 5);
        config
            .settings()
            .connect_groups
            .one_of
            .iter()
            .map(Vec::len)
            .collect()
    };
    assert_eq!(groups("'peer'"), [1, 1, 1, 2]);
    assert_eq!(groups("'client'"), [5]);
    for bad in [
        "[{strategy: 'anyOf', locators: []}]",
        "[{locators: ['tcp/a:1']}]",
        "[{strategy: 'oneOf', locators: [{}]}]",
    ] {
        let error = Config::default().insert_json5("connect/endpoints", bad);
        assert!(error.is_err(), "{bad}");
    }
}

#[test]
fn queues_sockets_and_patience_are_as_they_were_set() {
    let config = Config::default();
    assert_eq!(config.settings().queue_bytes(Priority::Data), None);
    assert_eq!(config.settings().links().tcp, SocketBuffers::default());
    assert_eq!(config.settings().interests_timeout, Duration::from_secs(10));
    assert_eq!(config.settings().metadata, "null");
    let config = config
        .with("transport/link/tx/queue/size", "{ data: 3, real_time: 1 }")
        .with("transport/link/tx/batch_size", "1000")
        .with("transport/link/tcp", "{ so_sndbuf: 5000 }")
        .with("routing/interests/timeout", "70")
        .with("metadata", "{ name: 'x' }");
    config.validate().unwrap();
    assert_eq!(config.settings().queue_bytes(Priority::Data), Some(3000));
    assert_eq!(
        config.settings().queue_bytes(Priority::RealTime),
        Some(1000)
    );
    assert_eq!(config.settings().queue_bytes(Priority::DataLow), None);
    assert_eq!(config.settings().links().tcp.send_bytes, Some(5000));
    assert_eq!(config.settings().links().tcp.receive_bytes, None);
    assert_eq!(
        config.settings().interests_timeout,
        Duration::from_millis(70)
    );
    assert_eq!(config.settings().metadata, "{\"name\":\"x\"}");
    assert!(config.warnings().is_empty());
}

#[test]
fn sections_merge_and_errors_change_nothing() {
    let mut config = Config::default();
    config
        .insert_json5("transport/link", "{ tx: { lease: 7000, keep_alive: 3 } }")
        .unwrap();
    config
        .insert_json5("transport/link/tx", "{ lease: 8000 }")
        .unwrap();
    assert_eq!(config.settings().lease, Duration::from_secs(8));
    assert_eq!(config.settings().keep_alive_divisor, 3);
    config
        .insert_json5("transport/link/tx", "{ lease: 1, keep_alive: 'x' }")
        .unwrap_err();
    assert_eq!(config.settings().lease, Duration::from_secs(8));
    config
        .insert_json5("transport/link/tx/lease", "null")
        .unwrap();
    assert_eq!(config.settings().lease, Duration::from_secs(10));
}

#[test]
fn arguments_are_split_at_the_first_colon() {
    let mut config = Config::default();
    config
        .insert_argument("connect/endpoints:[\"tcp/127.0.0.1:7447\"]")
        .unwrap();
    assert_eq!(
        config.settings().connect_groups.one_of[0][0].to_string(),
        "tcp/127.0.0.1:7447"
    );
    config
        .insert_argument("transport/unicast/open_timeout:2500")
        .unwrap();
    assert_eq!(config.settings().open_timeout, Duration::from_millis(2500));
    config
        .insert_argument("plugins/rest/http_port:8000")
        .unwrap();
    assert_eq!(config.warnings().len(), 1);
    assert_eq!(config.to_json("plugins/rest/http_port").unwrap(), "8000");
    for bad in ["", "mode", ":1", "mode:"] {
        let error = config.insert_argument(bad).unwrap_err();
        assert!(
            matches!(error, ConfigError::Argument { .. }),
            "{bad}: {error}"
        );
    }
}

#[test]
fn builders_remember_what_they_could_not_accept() {
    let config = Config::peer()
        .listen(["tcp/127.0.0.1:0"])
        .connect(["nonsense"]);
    let error = config.validate().unwrap_err().to_string();
    assert!(
        error.contains("connect/endpoints") && error.contains("nonsense"),
        "{error}"
    );
    assert_eq!(config.settings().listen_endpoints.len(), 1);
    let none: [&str; 0] = [];
    assert!(
        Config::peer()
            .listen(none)
            .settings()
            .listen_endpoints
            .is_empty()
    );
    assert_eq!(
        Config::peer()
            .with_runtime(last_runtime())
            .settings()
            .runtime_kind,
        last_runtime()
    );
}

#[test]
fn secrets_are_never_shown() {
    let config = Config::default()
        .with("transport/auth/usrpwd/user", "'bob'")
        .with("transport/auth/usrpwd/password", "'hunter2'");
    config.validate().unwrap();
    let warnings: String = config.warnings().iter().map(ToString::to_string).collect();
    for shown in [config.to_string(), format!("{config:?}"), warnings] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_shown_configuration_reads_back() {
    let config =
        Config::client(["tcp/127.0.0.1:1"]).with("metadata", "{ name: 'x', n: [1, 2.5, \"\\n\"] }");
    let again = Config::from_json5(&config.to_string()).unwrap();
    assert_eq!(again.to_string(), config.to_string());
    assert_eq!(
        again.to_json("metadata").unwrap(),
        "{\"name\":\"x\",\"n\":[1,2.5,\"\\n\"]}"
    );
}

#[test]
fn files_are_named_in_errors() {
    let error = Config::from_file("/nonexistent/zonda.json5")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot read /nonexistent/zonda.json5: "),
        "{error}"
    );
}

#[test]
fn files_of_another_kind_are_named_as_what_they_are() {
    let error = Config::from_file("node.yaml").unwrap_err().to_string();
    assert!(error.contains("it is YAML"), "{error}");
}

#[test]
fn the_environment_s_values_are_pairs() {
    let with = |text: &str| {
        let sources = Sources {
            environment: Some(text.to_owned()),
            ..Sources::default()
        };
        sources.examine()
    };
    let good = with(" mode : 'client' ;connect/endpoints:['tcp/a:1'];metadata:{a:';',b:[1]};");
    assert_eq!(good.problems, []);
    assert_eq!(good.config.mode(), WhatAmI::Client);
    assert_eq!(good.config.settings().metadata, "{\"a\":\";\",\"b\":[1]}");
    assert_eq!(good.config.origin("mode").kind(), "environment");
    for bad in [
        "mode",
        "mode:",
        ":1",
        "mode:'peer' id:'a'",
        "mode:'peer'}",
        "mod:1",
    ] {
        let examined = with(bad);
        assert_eq!(examined.problems.len(), 1, "{bad}");
        let text = examined.problems[0].to_string();
        assert!(
            text.starts_with("ZONDA_CFG: ") && !text.contains('\n'),
            "{text}"
        );
    }
}

#[test]
fn what_is_right_is_kept_beside_what_is_wrong() {
    let cfg = [
        "mode:'pear'".to_owned(),
        "transport/link/tx/lease:7000".to_owned(),
    ];
    let sources = Sources {
        defaults: &[("mode", "'router'")],
        flags: vec![Flag::text("--id", "id", "not hexadecimal")],
        arguments: &cfg,
        ..Sources::default()
    };
    let examined = sources.examine();
    let from: Vec<&str> = examined.problems.iter().map(|p| p.from.as_str()).collect();
    assert_eq!(from, ["--id", "--cfg"]);
    assert_eq!(examined.config.mode(), WhatAmI::Router);
    assert_eq!(examined.config.settings().lease, Duration::from_secs(7));
    assert_eq!(sources.load().unwrap_err().from, "--id");
}

#[test]
fn resolutions_follow_their_names() {
    for (name, bits) in [("8bit", 8), ("16bit", 16), ("32bit", 32), ("64bit", 64)] {
        let config = Config::default().with(
            "transport/link/tx/sequence_number_resolution",
            &format!("{name:?}"),
        );
        config.validate().unwrap();
        assert_eq!(config.settings().resolution.frame_sn_bits(), bits);
        assert_eq!(config.settings().resolution.request_id_bits(), 32);
    }
}

#[test]
fn endpoints_of_protocols_that_are_not_allowed_are_refused() {
    let config = Config::client(["tcp/127.0.0.1:1"]).with("transport/link/protocols", "['udp']");
    assert_eq!(
        config.validate().unwrap_err().to_string(),
        "`connect/endpoints` is tcp/127.0.0.1:1, expected one of the protocols udp (transport/link/protocols)"
    );
    config
        .with("transport/link/protocols", "['udp', 'tcp']")
        .validate()
        .unwrap();
}

#[test]
fn keys_to_authenticate_by_are_refused_where_neighbours_come_in() {
    let key = "transport/auth/pubkey/public_key_file";
    for (config, refused) in [
        (Config::router(), true),
        (Config::peer(), true),
        (Config::client(["tcp/127.0.0.1:1"]), false),
    ] {
        let config = config.with(key, "'key.pem'");
        assert!(!config.warnings().is_empty());
        let error = config.validate().err().map(|error| error.to_string());
        assert_eq!(error.is_some(), refused, "{error:?}");
        if let Some(error) = error {
            assert!(error.contains(key) && error.contains("usrpwd"), "{error}");
        }
    }
    // Ids need users who prove themselves.
    let ids = Config::router().with("transport/auth/usrpwd/ids", "[{user: 'ann', zids: ['a1']}]");
    let error = ids.validate().expect_err("no list of users").to_string();
    assert!(error.contains("dictionary_file"), "{error}");
}
