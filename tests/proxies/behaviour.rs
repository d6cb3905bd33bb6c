//! What is remembered of visitors, as they meet it: limits and traps.

use crate::client::Ask;
use crate::site::{Front, Site, on_every_front};

on_every_front! {
    a_challenged_path_with_a_limit_shows_each_request_its_own_page
    who_takes_a_link_that_no_person_sees_is_known
    who_asks_for_a_planted_page_is_known
}

fn a_challenged_path_with_a_limit_shows_each_request_its_own_page(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let replies = [(); 4].map(|()| site.ask(&Ask::get("/few")));
    assert_eq!(replies.each_ref().map(|reply| reply.status), [403, 403, 429, 429]);
    assert!(replies[1].text().contains("/.tollgate/static/"), "the last of the burst gets its challenge");
    assert!(replies[2].header("retry-after").is_some(), "{:?}", replies[2]);
    assert_eq!(site.app.reached(), 0);
}

fn who_takes_a_link_that_no_person_sees_is_known(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let page = site.ask(&Ask::get("/chal"));
    let (_, rest) =
        page.text().split_once(r#"<a hidden rel="nofollow" href=""#).expect("the page has the link");
    let link = rest.split('"').next().unwrap_or_default();
    assert_eq!(site.ask(&Ask::get("/for-people")).status, 200);
    assert_eq!(site.ask(&Ask::get(link).set("sec-fetch-site", "cross-site")).status, 404);
    assert_eq!(site.ask(&Ask::get("/for-people")).status, 200, "another site's doing");
    assert_eq!(site.ask(&Ask::get(link).set("sec-fetch-site", "none")).status, 404);
    assert_eq!(site.ask(&Ask::get("/for-people")).status, 403);
}

fn who_asks_for_a_planted_page_is_known(front: Front) {
    let Some(site) = Site::start(front) else { return };
    assert_eq!(site.ask(&Ask::get("/planted")).status, 403);
    assert_eq!(site.ask(&Ask::get("/for-people")).status, 403);
}
