//! The token endpoint, grant by grant.

use super::client::{Tenant, run};
use serde_json::json;

const EXCHANGE: &str = "api://AzureADTokenExchange/.default";
const ASSERTION: (&str, &str) = (
    "client_assertion_type",
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
);

#[test]
fn a_code_is_given_out_once() {
    run(async {
        let tenant = Tenant::start().await;
        let client = tenant.env("CLIENT_ID");
        let path = format!("/{}/oauth2/v2.0/devicecode", tenant.env("TENANT_ID"));
        let (_, code) = tenant
            .form(
                &path,
                &[("client_id", &client), ("scope", "User.Read openid")],
            )
            .await;
        let secret = code["device_code"].as_str().expect("a code").to_owned();
        let poll = [
            ("client_id", client.as_str()),
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", secret.as_str()),
        ];
        assert_eq!(
            tenant.token(&poll).await.1["error"],
            "authorization_pending"
        );
        // A person types it as they like.
        let user_code = code["user_code"].as_str().expect("a code");
        let typed = format!("{} {}", &user_code[..4].to_lowercase(), &user_code[4..]);
        let decision = json!({"user_code": typed, "approve": true});
        assert_eq!(tenant.control("decide", &decision).await.0, 200);
        let (status, again) = tenant.control("decide", &decision).await;
        assert_eq!(
            (status, again["error"].as_str()),
            (400, Some("That code was already used."))
        );
        assert_eq!(tenant.token(&poll).await.0, 200);
        assert_eq!(tenant.token(&poll).await.1["error"], "invalid_grant");
    });
}

#[test]
fn a_token_endpoint_refuses_with_the_right_status_and_code() {
    run(async {
        let tenant = Tenant::start().await;
        let api = tenant.env("API_CLIENT_ID");
        let secret = tenant.env("API_CLIENT_SECRET");
        let good = [
            ("client_id", api.as_str()),
            ("client_secret", secret.as_str()),
            ("grant_type", "client_credentials"),
            ("scope", "https://graph.microsoft.com/.default"),
        ];
        assert_eq!(tenant.token(&good).await.0, 200);
        let public = tenant.env("CLIENT_ID");
        for (name, value, status, error, code) in [
            ("client_secret", "wrong", 401, "invalid_client", 7_000_215),
            ("client_secret", "", 401, "invalid_client", 7_000_218),
            ("client_id", "nobody", 400, "unauthorized_client", 700_016),
            ("client_id", public.as_str(), 401, "invalid_client", 700_025),
            ("client_id", "", 400, "invalid_request", 900_144),
            ("scope", "User.Read", 400, "invalid_scope", 1_002_012),
            ("scope", "", 400, "invalid_request", 900_144),
            (
                "scope",
                "api://nothing.example.com/.default",
                400,
                "invalid_resource",
                500_011,
            ),
            (
                "grant_type",
                "password",
                400,
                "unsupported_grant_type",
                70_003,
            ),
            ("grant_type", "", 400, "invalid_request", 900_144),
        ] {
            let changed = good.map(|pair| if pair.0 == name { (name, value) } else { pair });
            let (said, body) = tenant.token(&changed).await;
            assert_eq!(
                (
                    said,
                    body["error"].as_str(),
                    body["error_codes"][0].as_u64()
                ),
                (status, Some(error), Some(code)),
                "{name}={value}: {body}"
            );
        }
        let (status, body) = tenant
            .form("/nobody.example.com/oauth2/v2.0/token", &good)
            .await;
        assert_eq!(
            (status, body["error_codes"][0].as_u64()),
            (400, Some(90_002))
        );
        let (status, body) = tenant.form("/common/oauth2/v2.0/token", &good).await;
        assert_eq!(
            (status, body["error_codes"][0].as_u64()),
            (400, Some(50_059))
        );
    });
}

#[test]
fn an_assertion_for_one_agent_opens_no_other() {
    run(async {
        let tenant = Tenant::start().await;
        let (blueprint, secret) = (tenant.env("BLUEPRINT_ID"), tenant.env("BLUEPRINT_SECRET"));
        let (agent, upn) = (tenant.env("AGENT_ID"), tenant.env("AGENT_USER_UPN"));
        let hop = |path: &str| {
            let path = path.to_owned();
            let (tenant, blueprint, secret) = (&tenant, &blueprint, &secret);
            async move {
                tenant
                    .token(&[
                        ("client_id", blueprint),
                        ("client_secret", secret),
                        ("grant_type", "client_credentials"),
                        ("scope", EXCHANGE),
                        ("fmi_path", &path),
                    ])
                    .await
            }
        };
        let (status, body) = hop(&tenant.env("HUMAN_ID")).await;
        assert_eq!(
            (status, body["error_codes"][0].as_u64()),
            (401, Some(700_213))
        );
        let first = hop(&agent).await.1["access_token"]
            .as_str()
            .expect("T1")
            .to_owned();
        let own = [
            ("client_id", agent.as_str()),
            ASSERTION,
            ("client_assertion", &first),
        ];
        let mut second = own.to_vec();
        second.extend([("grant_type", "client_credentials"), ("scope", EXCHANGE)]);
        let second = tenant.token(&second).await.1["access_token"]
            .as_str()
            .expect("T2")
            .to_owned();
        let third = |credential: &str, user: &str| {
            let mut form = own.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
            for (name, value) in [
                ("grant_type", "user_fic"),
                ("scope", "https://graph.microsoft.com/User.Read"),
                ("user_federated_identity_credential", credential),
                ("username", user),
            ] {
                form.push((name.to_owned(), value.to_owned()));
            }
            let tenant = &tenant;
            async move {
                let form: Vec<(&str, &str)> =
                    form.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                tenant.token(&form).await
            }
        };
        let (status, body) = third(&second, &upn).await;
        assert_eq!(status, 200, "{body}");
        for (credential, user, code) in [
            (first.as_str(), upn.as_str(), 700_213),
            ("nonsense", &upn, 50_013),
            (&second, &tenant.env("HUMAN_ID"), 50_105),
            (&second, "nobody@first.example.com", 50_034),
        ] {
            let (_, body) = third(credential, user).await;
            assert_eq!(body["error_codes"][0].as_u64(), Some(code), "{body}");
        }
    });
}

#[test]
fn what_two_tenants_know_is_apart() {
    run(async {
        let tenant = Tenant::start().await;
        let path = tenant.dir.path().join("env.second");
        let text = std::fs::read_to_string(path).expect("the second tenant's file");
        let second = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(&format!("{name}=")))
                .expect("a value")
                .to_owned()
        };
        let answer = tenant.sign_in("User.Read offline_access").await;
        let refresh = answer["refresh_token"].as_str().expect("a token");
        let form = [
            ("client_id", tenant.env("CLIENT_ID")),
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.to_owned()),
        ];
        let form: Vec<(&str, &str)> = form.iter().map(|(a, b)| (*a, b.as_str())).collect();
        let path = format!("/{}/oauth2/v2.0/token", second("TENANT_ID"));
        let (status, body) = tenant.form(&path, &form).await;
        assert_eq!(
            (status, body["error_codes"][0].as_u64()),
            (400, Some(700_016))
        );
        assert_eq!(tenant.token(&form).await.0, 200);
        let token = answer["access_token"].as_str().expect("a token");
        let foreign = format!("/v1.0/users/{}", second("HUMAN_ID"));
        assert_eq!(tenant.graph("GET", &foreign, token, None).await.0, 404);
    });
}
