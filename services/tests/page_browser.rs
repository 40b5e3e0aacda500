// SPDX-License-Identifier: MIT OR Apache-2.0

//! The live page of a node in Chromium.

use serde_json::json;
use zonda::{Config, Wait};

use crate::browser::{Browser, MARKUP, long_check};
use crate::page::router;
use crate::served::{LOG, started_on};

/// Time until the browser shows the first text of the page.
const FIRST_PAINT_MS: f64 = 1000.0;

/// Checks the time of the first paint.
fn painted(browser: &Browser) {
    let entry = "performance.getEntriesByName('first-contentful-paint')[0]";
    browser.until("something is painted", &format!("return Boolean({entry})"));
    let at = browser.run(&format!("return {entry}.startTime"));
    println!("first paint after {at} ms");
    assert!(at.as_f64().is_some_and(|at| at < FIRST_PAINT_MS), "{at}");
}

/// Checks that the page of a server without credentials publishes nothing, and says why.
fn closed(browser: &Browser, config: &Config) {
    let served = started_on(config, router("{enabled: false}")).unwrap();
    let url = format!("http://localhost:{}/", served.address.port());
    browser.post("/url", &json!({"url": url}));
    let reason = "return document.getElementById('publish-fields').disabled \
        && document.getElementById('publish-closed').checkVisibility()";
    browser.until("the page says that it publishes nothing", reason);
    browser.run("fetch('/demo/a', {method: 'PUT', body: 'x'}).then((answer) => { window.status = answer.status; })");
    browser.until("the server refuses it", "return window.status === '403'");
    // The browser reports the refusal in its console.
    browser.post("/url", &json!({"url": "about:blank"}));
    browser.post("/se/log", &json!({"type": "browser"}));
    served.stop();
}

#[test]
fn a_browser_shows_neighbours_and_hostile_values_as_text() {
    let Some(browser) = long_check() else {
        return;
    };
    LOG.push(0, "WARN", "zonda", &format!("a line of the log {MARKUP}"));
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    let config = config.with("adminspace/enabled", "true");
    closed(&browser, &config);
    let config = config.with("services/http/open", "true");
    let served = started_on(&config, router("{enabled: false}")).unwrap();
    let locator = served.session.info().locators().wait()[0].to_string();
    let client = zonda::open(Config::client([locator])).wait().unwrap();
    let url = format!("http://localhost:{}/", served.address.port());
    browser.post("/url", &json!({"url": url}));
    painted(&browser);
    let shown = format!(
        "return document.getElementById('links').textContent.includes('{}')",
        client.zid()
    );
    browser.until("the neighbour is shown", &shown);
    browser.run("document.querySelector('#subscribe button').click()");
    let subscribed = "return document.getElementById('keys-state').textContent === 'subscribed'";
    browser.until("the page subscribes", subscribed);
    let key = format!("demo/{}", MARKUP.replace('/', ""));
    client
        .put("demo/plain", MARKUP)
        .encoding(zonda::bytes::Encoding::TEXT_PLAIN)
        .wait()
        .unwrap();
    client
        .put(key, "value")
        .encoding(zonda::bytes::Encoding::TEXT_PLAIN)
        .wait()
        .unwrap();
    browser.until(
        "both values are shown as text",
        "return document.getElementById('rows').textContent.split('<img src=x').length === 3",
    );
    browser.run("document.querySelector('#query [name=selector]').value = 'demo/nothing'; document.querySelector('#query button').click()");
    let answered = "return document.getElementById('replies').textContent === '[]'";
    browser.until("the query is answered", answered);
    browser.run("const form = document.getElementById('publish'); form.elements.key.value = 'demo/from page'; form.elements.value.value = 'published here'; form.querySelector('button').click()");
    let arrived = "return document.getElementById('rows').textContent.includes('published here')";
    browser.until("the publication comes back", arrived);
    browser.run("const form = document.getElementById('explain'); form.elements.key.value = 'demo/<b>'; form.querySelector('button').click()");
    let explained = "return document.getElementById('way').textContent.endsWith('has no subscriber that matches demo/<b>') \
        || document.getElementById('way').textContent.includes('demo/<b> arrives')";
    browser.until("the way of a message is explained", explained);
    let logged =
        "return document.getElementById('log').textContent.includes('a line of the log <img')";
    browser.until("the log is shown as text", logged);
    let owned = "return document.title === 'Zonda' && document.images.length === 0";
    assert_eq!(browser.run(owned), true);
    browser.shot("light.png");
    let dark = json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}});
    browser.post("/goog/cdp/execute", &dark);
    browser.shot("dark.png");
    let phone = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": {"width": 390, "height": 1500, "deviceScaleFactor": 1, "mobile": true}});
    browser.post("/goog/cdp/execute", &phone);
    let fits = "return document.documentElement.scrollWidth <= 390";
    browser.until("the page is as wide as a phone", fits);
    browser.shot("phone.png");
    let log = browser.post("/se/log", &json!({"type": "browser"}));
    assert_eq!(log, json!([]), "the console has errors");
    drop(browser);
    client.close().wait().unwrap();
    served.stop();
}
