// SPDX-License-Identifier: MIT OR Apache-2.0

//! The live page in Chromium with a made-up node of 1 000 neighbours and 10 000 keys.

use serde_json::{Value, json};
use zonda::Config;

use crate::browser::{Browser, long_check};
use crate::served::{Served, started};

/// Time that a frame may take.
const FRAME_MS: f64 = 33.0;

/// Opens the page with events of a made-up node, and subscribes.
fn opened(browser: &Browser) -> Served {
    let served = started(&Config::peer().with("services/http/listen", "'127.0.0.1:0'")).unwrap();
    let command = "Page.addScriptToEvaluateOnNewDocument";
    let source = json!({"source": include_str!("page_scale.js")});
    let script = json!({"cmd": command, "params": source});
    browser.post("/goog/cdp/execute", &script);
    let url = format!("http://localhost:{}/", served.address.port());
    browser.post("/url", &json!({ "url": url }));
    browser.run("madeUp.update(1000, 1); madeUp.update(1000, 2)");
    browser.run("document.querySelector('#subscribe button').click()");
    browser.run("madeUp.publish(0, 10000, 'first')");
    browser.until(
        "all keys are counted",
        "return document.getElementById('keys-count').textContent.startsWith('10000 keys')",
    );
    browser.run("madeUp.update(1000, 3)");
    served
}

fn is(browser: &Browser, what: &str, expression: &str) {
    browser.until(what, &format!("return {expression}"));
}

/// Returns times in order.
fn times(browser: &Browser, name: &str) -> Vec<f64> {
    let times = browser.run(&format!("return madeUp.{name}"));
    let mut times: Vec<f64> = { times.as_array().unwrap().iter() }
        .filter_map(Value::as_f64)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

#[test]
fn a_page_of_many_neighbours_and_keys_leaves_out_what_is_not_in_sight() {
    let Some(browser) = long_check() else {
        return;
    };
    let served = opened(&browser);
    neighbours(&browser);
    keys(&browser);
    // Texts of the network stay texts.
    browser.run("madeUp.publish(0, 10, '</script>')");
    is(
        &browser,
        "markup is shown as text",
        &format!("{}.split('<img src=x').length > 2", text("rows")),
    );
    let unharmed = "document.title === 'Zonda' && document.images.length === 0";
    is(&browser, "no markup is taken as such", unharmed);
    browser.shot("many.png");
    assert_eq!(
        browser.post("/se/log", &json!({"type": "browser"})),
        json!([])
    );
    drop(browser);
    served.stop();
}

/// Returns the script that reads the text of an element.
fn text(id: &str) -> String {
    format!("document.getElementById('{id}').textContent")
}

/// Checks the neighbours: the slow one is first, rates are shown in both directions, the drawing is
/// capped.
fn neighbours(browser: &Browser) {
    let undrawn = "968 neighbours are not drawn";
    is(
        browser,
        "the drawing is capped",
        &format!("{}.startsWith('{undrawn}')", text("more")),
    );
    is(
        browser,
        "32 are drawn",
        "document.querySelectorAll('#graph g').length === 32",
    );
    is(
        browser,
        "few rows are elements",
        "document.querySelectorAll('#links > div').length < 60",
    );
    is(
        browser,
        "the slow one is first",
        "document.querySelector('#links .slow').textContent.startsWith('1/s dropped')",
    );
    is(
        browser,
        "rates in are shown",
        &format!("{}.includes('50/s, 3.0 kB/s')", text("links")),
    );
    is(
        browser,
        "edges have both rates",
        "document.querySelector('#graph title').textContent.includes('↓ 3.0 kB/s')",
    );
    is(
        browser,
        "neighbours and keys talk",
        &format!("/99.9 kB.s.*key deep/.test({})", text("talkers")),
    );
}

/// Checks the keys: the first branch is open, further ones open on request.
fn keys(browser: &Browser) {
    is(
        browser,
        "few keys are elements",
        "document.querySelectorAll('#rows div').length < 60",
    );
    is(
        browser,
        "the search finds them",
        "(() => { const search = document.getElementById('search'); \
        search.value = 'FLAT/K123'; search.dispatchEvent(new Event('input')); \
        return document.getElementById('keys-count').textContent === '10000 keys, 11 found' })()",
    );
    is(
        browser,
        "all is back",
        "(() => { const search = document.getElementById('search'); \
        search.value = ''; search.dispatchEvent(new Event('input')); \
        return document.getElementById('keys-count').textContent === '10000 keys' })()",
    );
    let press = |key: &str| {
        browser.run(&format!("document.getElementById('keys').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))"))
    };
    press("Home");
    is(
        browser,
        "the first row is active",
        "document.querySelector('#rows .active b').textContent === 'deep'",
    );
    press("ArrowRight");
    is(
        browser,
        "it opens",
        "document.querySelectorAll('#rows [aria-level=\"2\"]')[0].textContent === '▸0(100)'",
    );
    press("ArrowLeft");
    is(
        browser,
        "it closes",
        "document.querySelector('#rows .active').getAttribute('aria-expanded') === 'false'",
    );
}

#[test]
fn a_page_of_many_neighbours_and_keys_keeps_its_frames() {
    let Some(browser) = long_check() else {
        return;
    };
    let served = opened(&browser);
    browser.run("madeUp.run(600)");
    is(&browser, "600 frames are drawn", "madeUp.isDone");
    let (work, gaps) = (times(&browser, "work"), times(&browser, "gaps"));
    let longest = browser.run("return madeUp.longest").as_f64().unwrap();
    let part = |times: &[f64], per_mille: usize| times[(times.len() - 1) * per_mille / 1000];
    let table = |times: &[f64]| [500, 950, 990, 1000].map(|part_of| part(times, part_of).round());
    println!(
        "work of a frame, in ms (median, 95 %, 99 %, all): {:?}",
        table(&work)
    );
    println!(
        "time between frames: {:?}; longest event {longest:.0}",
        table(&gaps)
    );
    assert!(longest < FRAME_MS, "an event takes {longest} ms");
    // The others are those in which the machine did something else.
    assert!(part(&work, 500) < FRAME_MS / 2.0, "{:?}", table(&work));
    assert!(part(&work, 950) < FRAME_MS, "{:?}", table(&work));
    drop(browser);
    served.stop();
}
