BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'first','2026-11-17 11:29:28',1,X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E',23160436);
INSERT INTO "_sqlx_migrations" VALUES(2,'changes','2026-11-17 11:29:28',1,X'832FE61AC2FF89D965A444C23FE806EEBED0CFC40375D141D9343377D08DF5902F26A1634703E7AF4EDD50204A7AF106',1162118);
INSERT INTO "_sqlx_migrations" VALUES(3,'well since','2026-11-17 11:29:28',1,X'354BE5CCDF9220B6E6EC675F0DADBAF5E131976F827E99DD126B8624E2DCA1676626323A02CDA0E6AD3EBCE655236974',614694);
INSERT INTO "_sqlx_migrations" VALUES(4,'lock','2026-11-17 11:29:28',1,X'DF1885A0663E6E0D9A75078D60F4EE63F26DBCF8C0B3053A5C9A1C679F18D68C9447DF77F63BB4DA46EC856B7FD01420',892737);
INSERT INTO "_sqlx_migrations" VALUES(5,'waits','2026-11-17 11:29:28',1,X'0BC9415326AB39B2AEE0CA64A76F4A72F6BFEAB6473F5CFA838B1285DA93A1EC1E346B60E211FD10D551D75D5F921637',611679);
CREATE TABLE change (
    id          TEXT    PRIMARY KEY,
    short       TEXT    NOT NULL,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    moves       TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    active      BOOLEAN NOT NULL,
    -- Still looked at: active, or watched for a late proof.
    open        BOOLEAN NOT NULL,
    -- Grows with every claim; whoever writes with an older number has been overtaken.
    fence       BIGINT  NOT NULL DEFAULT 0,
    due_at      BIGINT,
    -- Who asked to cancel it; honoured at its next step.
    cancel_by   TEXT,
    body        TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL
, waits BOOLEAN NOT NULL DEFAULT FALSE);
INSERT INTO "change" VALUES('01a1e944-ec95-7ac9-8588-572d41f58189','41f58189','checkout','prod','branch acme/checkout prod','deployed',0,0,11,NULL,NULL,'{"id":"01a1e944-ec95-7ac9-8588-572d41f58189","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:29:30.773178119Z","plan":{"artefact":"checkout","environment":"prod","below":"staging","repository":"acme/checkout","branch":"prod","pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","version":{"tag":"staging-2234060","digest":null,"commit":"2234060be4b719bd96a766d52d1dd02c28449dee"},"from":{"tag":"prod-67cbe0e","digest":null,"commit":"67cbe0e9b18af716b2cdc18521fa6390b8598550"},"commits":[{"sha":"2234060be4b719bd96a766d52d1dd02c28449dee","subject":"Merge 11cef63 into staging","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/2234060be4b719bd96a766d52d1dd02c28449dee"},{"sha":"11cef6341811d05536cb227129fbf1eb9df65459","subject":"Merge 06e0c88 into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/11cef6341811d05536cb227129fbf1eb9df65459"},{"sha":"06e0c880a6ecef0cb3d428301ed0da43dea320e2","subject":"Round totals per line, as the invoice does","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/06e0c880a6ecef0cb3d428301ed0da43dea320e2"}],"commits_in_all":3,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/67cbe0e9b18af716b2cdc18521fa6390b8598550...2234060be4b719bd96a766d52d1dd02c28449dee","head":"67cbe0e9b18af716b2cdc18521fa6390b8598550","behind_by":2,"promote":"pull_request","well_since":"2026-11-16T15:29:28.22129Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"deployed","deploying":{"result":"004e05091c0615adab1dd14f2e293aeaea19ab35","merged_at":"2026-11-17T11:29:31.118400734Z","deadline":"2026-11-17T11:31:01.118400734Z","tag":{"made":{"name":"prod/2026.11.17-1","at":"2026-11-17T11:29:31.200469378Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null,"approvals":[{"by":"U0BOB","at":"2026-11-17T11:29:31.026619449Z","way":"slack"}],"by_hand":null,"unseen":null},"at":"2026-11-17T11:29:37.673280507Z","ready":3,"proof":"tag"},"frozen":{"branch":"gantry/01a1e944-ec95-7ac9-8588-572d41f58189","result":{"base":"67cbe0e9b18af716b2cdc18521fa6390b8598550","head":"f3d8a8b9e95fb346eb9fc044661b62d91ed1c6be"},"making":null,"pull":{"number":1,"url":"http://127.0.0.1:8484/sim/github/acme/checkout/pull/1"},"tidy":true}}',1794914970773178,0);
INSERT INTO "change" VALUES('01a1e945-28ab-7806-9770-2d0a6e81975c','6e81975c','checkout','qa','branch acme/checkout qa','deployed',0,0,7,NULL,NULL,'{"id":"01a1e945-28ab-7806-9770-2d0a6e81975c","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:29:46.155663405Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","version":{"tag":"develop-43c54d5","digest":null,"commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479"},"from":{"tag":"qa-18b203e","digest":null,"commit":"18b203e901caf0474684b60ff61b339424eaedb8"},"commits":[{"sha":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/43c54d5cbbb7f1f5da55628003a9fb90ae621479"},{"sha":"9b1a0238daee57ec9541f253cc77529d9573c51d","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/9b1a0238daee57ec9541f253cc77529d9573c51d"}],"commits_in_all":2,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/18b203e901caf0474684b60ff61b339424eaedb8...43c54d5cbbb7f1f5da55628003a9fb90ae621479","head":"18b203e901caf0474684b60ff61b339424eaedb8","behind_by":4,"promote":"merge","well_since":"2026-11-17T11:29:42.878924435Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"deployed","deploying":{"result":"420bfa0242a970b5986748107387898f3ea4777a","merged_at":"2026-11-17T11:29:46.175589111Z","deadline":"2026-11-17T11:31:16.175589111Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:29:46.190938083Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null,"approvals":[],"by_hand":null,"unseen":null},"at":"2026-11-17T11:29:51.230932464Z","ready":2,"proof":"tag"},"frozen":null}',1794914986155663,0);
INSERT INTO "change" VALUES('01a1e945-4dbe-75c8-b7f1-523c6b038a7d','6b038a7d','checkout','staging','branch acme/checkout staging','deployed',0,0,7,NULL,NULL,'{"id":"01a1e945-4dbe-75c8-b7f1-523c6b038a7d","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:29:55.646689135Z","plan":{"artefact":"checkout","environment":"staging","below":"qa","repository":"acme/checkout","branch":"staging","pinned":"420bfa0242a970b5986748107387898f3ea4777a","version":{"tag":"qa-420bfa0","digest":null,"commit":"420bfa0242a970b5986748107387898f3ea4777a"},"from":{"tag":"staging-2234060","digest":null,"commit":"2234060be4b719bd96a766d52d1dd02c28449dee"},"commits":[{"sha":"420bfa0242a970b5986748107387898f3ea4777a","subject":"Promote checkout develop-43c54d5 to qa","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/420bfa0242a970b5986748107387898f3ea4777a"},{"sha":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/43c54d5cbbb7f1f5da55628003a9fb90ae621479"},{"sha":"18b203e901caf0474684b60ff61b339424eaedb8","subject":"Merge cecdd12 into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/18b203e901caf0474684b60ff61b339424eaedb8"},{"sha":"9b1a0238daee57ec9541f253cc77529d9573c51d","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/9b1a0238daee57ec9541f253cc77529d9573c51d"},{"sha":"cecdd122e608494b154374799e8295d8b8827422","subject":"Accept vouchers of partners","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/cecdd122e608494b154374799e8295d8b8827422"}],"commits_in_all":5,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/2234060be4b719bd96a766d52d1dd02c28449dee...420bfa0242a970b5986748107387898f3ea4777a","head":"2234060be4b719bd96a766d52d1dd02c28449dee","behind_by":3,"promote":"merge","well_since":"2026-11-17T11:29:51.204392974Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"deployed","deploying":{"result":"41b032ed54615554efaae28714871ca1889577e8","merged_at":"2026-11-17T11:29:55.718755978Z","deadline":"2026-11-17T11:31:25.718755978Z","tag":{"made":{"name":"staging/2026.11.17-1","at":"2026-11-17T11:29:55.747001144Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null,"approvals":[],"by_hand":null,"unseen":null},"at":"2026-11-17T11:30:00.810324612Z","ready":2,"proof":"tag"},"frozen":null}',1794914995646689,0);
INSERT INTO "change" VALUES('01a1e945-7863-7d1b-ae00-dcf6d48d15ef','d48d15ef','checkout','qa','branch acme/checkout qa','failed',0,1,8,NULL,NULL,'{"id":"01a1e945-7863-7d1b-ae00-dcf6d48d15ef","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:30:06.563691343Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"68d598534769ea70e0b3d81aae0a4914499f99d4","version":{"tag":"develop-68d5985","digest":null,"commit":"68d598534769ea70e0b3d81aae0a4914499f99d4"},"from":{"tag":"qa-420bfa0","digest":null,"commit":"420bfa0242a970b5986748107387898f3ea4777a"},"commits":[{"sha":"68d598534769ea70e0b3d81aae0a4914499f99d4","subject":"Divide by the number of guests","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/68d598534769ea70e0b3d81aae0a4914499f99d4"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/420bfa0242a970b5986748107387898f3ea4777a...68d598534769ea70e0b3d81aae0a4914499f99d4","head":"420bfa0242a970b5986748107387898f3ea4777a","behind_by":5,"promote":"merge","well_since":"2026-11-17T11:30:06.10264868Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"failed","deploying":{"result":"24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e","merged_at":"2026-11-17T11:30:06.612613623Z","deadline":"2026-11-17T11:31:36.612613623Z","tag":{"made":{"name":"qa/2026.11.17-2","at":"2026-11-17T11:30:06.645262337Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null,"approvals":[],"by_hand":null,"unseen":null},"at":"2026-11-17T11:30:16.182444836Z","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"},"frozen":null}',1794915006563691,0);
INSERT INTO "change" VALUES('01a1e946-aab8-71df-81a3-3372a1b9a96e','a1b9a96e','checkout','prod','branch acme/checkout prod','awaiting_approval',1,1,5,1794915534984899,NULL,'{"id":"01a1e946-aab8-71df-81a3-3372a1b9a96e","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:31:24.9848989Z","plan":{"artefact":"checkout","environment":"prod","below":"staging","repository":"acme/checkout","branch":"prod","pinned":"41b032ed54615554efaae28714871ca1889577e8","version":{"tag":"staging-41b032e","digest":null,"commit":"41b032ed54615554efaae28714871ca1889577e8"},"from":{"tag":"prod-004e050","digest":null,"commit":"004e05091c0615adab1dd14f2e293aeaea19ab35"},"commits":[{"sha":"41b032ed54615554efaae28714871ca1889577e8","subject":"Promote checkout qa-420bfa0 to staging","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/41b032ed54615554efaae28714871ca1889577e8"},{"sha":"420bfa0242a970b5986748107387898f3ea4777a","subject":"Promote checkout develop-43c54d5 to qa","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/420bfa0242a970b5986748107387898f3ea4777a"},{"sha":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/43c54d5cbbb7f1f5da55628003a9fb90ae621479"},{"sha":"18b203e901caf0474684b60ff61b339424eaedb8","subject":"Merge cecdd12 into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/18b203e901caf0474684b60ff61b339424eaedb8"},{"sha":"9b1a0238daee57ec9541f253cc77529d9573c51d","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/9b1a0238daee57ec9541f253cc77529d9573c51d"},{"sha":"cecdd122e608494b154374799e8295d8b8827422","subject":"Accept vouchers of partners","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/cecdd122e608494b154374799e8295d8b8827422"}],"commits_in_all":6,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/004e05091c0615adab1dd14f2e293aeaea19ab35...41b032ed54615554efaae28714871ca1889577e8","head":"004e05091c0615adab1dd14f2e293aeaea19ab35","behind_by":4,"promote":"pull_request","well_since":"2026-11-17T11:30:00.742414Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"awaiting_approval","required":1,"asked":[{"group":{"id":"S0RELEASE","handle":"release-managers"}}],"approvals":[],"since":"2026-11-17T11:31:24.9848989Z","deadline":"2026-11-17T11:46:24.9848989Z","nudged":false,"waits_for":[],"ignored":[],"voided":null,"trouble":null},"frozen":{"branch":"gantry/01a1e946-aab8-71df-81a3-3372a1b9a96e","result":{"base":"004e05091c0615adab1dd14f2e293aeaea19ab35","head":"ca381b76838294d3d01e4fdf1045232c713a6221"},"making":null,"pull":{"number":2,"url":"http://127.0.0.1:8484/sim/github/acme/checkout/pull/2"},"tidy":false}}',1794915084984898,1);
INSERT INTO "change" VALUES('01a1e946-c532-7f08-bec4-250349bdc6b3','49bdc6b3','storefront','qa','branch acme/shop qa','deploying',1,1,6,1794915182025558,NULL,'{"id":"01a1e946-c532-7f08-bec4-250349bdc6b3","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:31:31.762239895Z","plan":{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","version":{"tag":"develop-719cedf","digest":null,"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78"},"from":{"tag":"qa-4da29e4","digest":null,"commit":"4da29e44e5b02de0ffbcb506bc18c249b74730bd"},"commits":[{"sha":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/719cedf6c434dc04badd6f96d9f76147fbdc8a78"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/4da29e44e5b02de0ffbcb506bc18c249b74730bd...719cedf6c434dc04badd6f96d9f76147fbdc8a78","head":"4da29e44e5b02de0ffbcb506bc18c249b74730bd","behind_by":1,"promote":"merge","well_since":"2026-11-17T11:31:30.689565Z","green_checks":0,"supersedes":null,"overridden":null},"stage":{"name":"deploying","result":"f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d","merged_at":"2026-11-17T11:31:32.025557635Z","deadline":"2026-11-17T11:33:02.025557635Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:31:32.245050328Z"}},"nudge":null,"rollout":{"ready":0,"wanted":2},"others":[{"artefact":"mailer","version":"build-10","state":{"runs":{"ready":4}}}],"trouble":null,"approvals":[],"by_hand":null,"unseen":null},"frozen":null}',1794915091762239,0);
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    PRIMARY KEY (repository, base, head)
);
INSERT INTO "comparison" VALUES('acme/checkout','18b203e901caf0474684b60ff61b339424eaedb8','9b1a0238daee57ec9541f253cc77529d9573c51d',1,4);
INSERT INTO "comparison" VALUES('acme/checkout','2234060be4b719bd96a766d52d1dd02c28449dee','18b203e901caf0474684b60ff61b339424eaedb8',2,3);
INSERT INTO "comparison" VALUES('acme/checkout','67cbe0e9b18af716b2cdc18521fa6390b8598550','2234060be4b719bd96a766d52d1dd02c28449dee',3,2);
INSERT INTO "comparison" VALUES('acme/shop','4da29e44e5b02de0ffbcb506bc18c249b74730bd','2d3b11df3a6f77d375da6adf0a9cb08b4fa7cbf8',0,1);
INSERT INTO "comparison" VALUES('acme/shop','741fb67dc003492de93a59d9d188f5301950286a','4da29e44e5b02de0ffbcb506bc18c249b74730bd',0,1);
INSERT INTO "comparison" VALUES('acme/shop','9dd2bf2ebe572a49f0e351ffe7d18b11ede6ce6c','741fb67dc003492de93a59d9d188f5301950286a',0,1);
INSERT INTO "comparison" VALUES('acme/checkout','004e05091c0615adab1dd14f2e293aeaea19ab35','2234060be4b719bd96a766d52d1dd02c28449dee',0,4);
INSERT INTO "comparison" VALUES('acme/checkout','18b203e901caf0474684b60ff61b339424eaedb8','43c54d5cbbb7f1f5da55628003a9fb90ae621479',2,4);
INSERT INTO "comparison" VALUES('acme/search','bffa81f1e74c7b0954fad297215f2d3316137ff3','ecb95fa7ffed499ae35d7f4862eb7133fb2cbca5',1,0);
INSERT INTO "comparison" VALUES('acme/checkout','420bfa0242a970b5986748107387898f3ea4777a','43c54d5cbbb7f1f5da55628003a9fb90ae621479',0,5);
INSERT INTO "comparison" VALUES('acme/checkout','2234060be4b719bd96a766d52d1dd02c28449dee','420bfa0242a970b5986748107387898f3ea4777a',5,3);
INSERT INTO "comparison" VALUES('acme/checkout','41b032ed54615554efaae28714871ca1889577e8','420bfa0242a970b5986748107387898f3ea4777a',0,4);
INSERT INTO "comparison" VALUES('acme/checkout','004e05091c0615adab1dd14f2e293aeaea19ab35','41b032ed54615554efaae28714871ca1889577e8',6,4);
INSERT INTO "comparison" VALUES('acme/checkout','420bfa0242a970b5986748107387898f3ea4777a','68d598534769ea70e0b3d81aae0a4914499f99d4',1,5);
INSERT INTO "comparison" VALUES('acme/checkout','24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e','68d598534769ea70e0b3d81aae0a4914499f99d4',0,6);
INSERT INTO "comparison" VALUES('acme/checkout','41b032ed54615554efaae28714871ca1889577e8','24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e',2,4);
INSERT INTO "comparison" VALUES('acme/shop','4da29e44e5b02de0ffbcb506bc18c249b74730bd','719cedf6c434dc04badd6f96d9f76147fbdc8a78',1,1);
INSERT INTO "comparison" VALUES('acme/shop','f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d','719cedf6c434dc04badd6f96d9f76147fbdc8a78',0,2);
INSERT INTO "comparison" VALUES('acme/shop','741fb67dc003492de93a59d9d188f5301950286a','f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d',2,1);
INSERT INTO "comparison" VALUES('acme/search','bffa81f1e74c7b0954fad297215f2d3316137ff3','ef9c3298bb2ba43ecd67ccf6888af913702f0783',2,0);
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','prod-004e050','004e05091c0615adab1dd14f2e293aeaea19ab35','tag',1794914973129792);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-43c54d5','43c54d5cbbb7f1f5da55628003a9fb90ae621479','tag',1794914979881415);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.3','ecb95fa7ffed499ae35d7f4862eb7133fb2cbca5','label',1794914979892976);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-420bfa0','420bfa0242a970b5986748107387898f3ea4777a','tag',1794914988190482);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','staging-41b032e','41b032ed54615554efaae28714871ca1889577e8','tag',1794914997729422);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-68d5985','68d598534769ea70e0b3d81aae0a4914499f99d4','tag',1794915003252524);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-24a3dc7','24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e','tag',1794915008652739);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','develop-719cedf','719cedf6c434dc04badd6f96d9f76147fbdc8a78','tag',1794915087633982);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-9','719cedf6c434dc04badd6f96d9f76147fbdc8a78','report',1794915090876564);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','qa-f2f8353','f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d','tag',1794915094352047);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-10','f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d','report',1794915097148521);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.4','ef9c3298bb2ba43ecd67ccf6888af913702f0783','label',1794915098596506);
CREATE TABLE inbox (
    id          INTEGER PRIMARY KEY,
    source      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    body        TEXT,
    received_at BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    attempts    BIGINT  NOT NULL DEFAULT 0,
    error       TEXT,
    done_at     BIGINT,
    UNIQUE (source, key)
);
INSERT INTO "inbox" VALUES(1,'slack_command','1.1794914970482.00000000000000000000000100000000',NULL,1794914970483903,1794914970483903,0,NULL,1794914970501035);
INSERT INTO "inbox" VALUES(2,'slack_interaction','8.1794914970750.00000000000000000000000800000000',NULL,1794914970751511,1794914970751511,0,NULL,1794914970774321);
INSERT INTO "inbox" VALUES(3,'github','83e55ecd3eea1bae697cf31aaa40429efa73fbad09d1d5ed6fd555e7af63efac',NULL,1794914970794392,1794914970794392,0,NULL,1794914970797721);
INSERT INTO "inbox" VALUES(4,'slack_interaction','20.1794914971017.00000000000000000000001400000000',NULL,1794914971019330,1794914971019330,0,NULL,1794914971033063);
INSERT INTO "inbox" VALUES(5,'github','654980b72a5460f99309020e96512a42ca39106f24212421e3ebde5ff50f76f8',NULL,1794914971132659,1794914971132659,0,NULL,1794914971152237);
INSERT INTO "inbox" VALUES(6,'flux','a5ec97cda94b49b115c253dbbf761298',NULL,1794914973121074,1794914973121074,0,NULL,1794914973127326);
INSERT INTO "inbox" VALUES(7,'flux','248afb8cb87bdebcd2bcd1111ac91b74',NULL,1794914977648581,1794914977648581,0,NULL,1794914977668374);
INSERT INTO "inbox" VALUES(8,'flux','fe6703d979068bd55a2922913cc17679',NULL,1794914979870497,1794914979870497,0,NULL,1794914979876203);
INSERT INTO "inbox" VALUES(9,'flux','c6465b052fd784b27c76ce0676dac9b2',NULL,1794914979874984,1794914979874984,0,NULL,1794914979880410);
INSERT INTO "inbox" VALUES(10,'flux','6bf77ddcc83682869a286d3b76770924',NULL,1794914982890177,1794914982890177,0,NULL,1794914982898811);
INSERT INTO "inbox" VALUES(11,'flux','b6446498ebcb89644e35d064b109d9d2',NULL,1794914982898811,1794914982898811,0,NULL,1794914982904939);
INSERT INTO "inbox" VALUES(12,'slack_command','59.1794914986133.00000000000000000000003b00000000',NULL,1794914986134133,1794914986134133,0,NULL,1794914986156000);
INSERT INTO "inbox" VALUES(13,'slack_command','62.1794914986140.00000000000000000000003e00000000',NULL,1794914986141333,1794914986141333,0,NULL,1794914986154134);
INSERT INTO "inbox" VALUES(14,'flux','1ee4d52ccb8f656b890b0d672ce85aa4',NULL,1794914988186317,1794914988186317,0,NULL,1794914988192390);
INSERT INTO "inbox" VALUES(15,'flux','c09431b82c8ae567ddec2cc8b5588ebb',NULL,1794914991203921,1794914991203921,0,NULL,1794914991216509);
INSERT INTO "inbox" VALUES(16,'slack_command','96.1794914995552.00000000000000000000006000000000',NULL,1794914995553661,1794914995553661,0,NULL,1794914995646991);
INSERT INTO "inbox" VALUES(17,'flux','ae25facd47565f5e9325f43002d49b0a',NULL,1794914997726865,1794914997726865,0,NULL,1794914997731950);
INSERT INTO "inbox" VALUES(18,'flux','29873ffe9fd7d254ece4cc8e4daa6432',NULL,1794915000808459,1794915000808459,0,NULL,1794915000819601);
INSERT INTO "inbox" VALUES(19,'flux','81bbf9eb4f3156a8eadaa1be0d053219',NULL,1794915003191270,1794915003191270,0,NULL,1794915003236011);
INSERT INTO "inbox" VALUES(20,'flux','e9541c6c40e55506ee9445d5e4d2dd8b',NULL,1794915006136372,1794915006136372,0,NULL,1794915006144435);
INSERT INTO "inbox" VALUES(21,'slack_command','127.1794915006478.00000000000000000000007f00000000',NULL,1794915006479423,1794915006479423,0,NULL,1794915006564005);
INSERT INTO "inbox" VALUES(22,'flux','358b34d4ddd63dd906ffe2d32d73b667',NULL,1794915008640778,1794915008640778,0,NULL,1794915008664416);
INSERT INTO "inbox" VALUES(23,'flux','1e904184a8d2919942dceef3de753eba',NULL,1794915016138723,1794915016138723,0,NULL,1794915016172968);
INSERT INTO "inbox" VALUES(24,'slack_command','152.1794915016270.00000000000000000000009800000000',NULL,1794915016271999,1794915016271999,0,NULL,1794915016280382);
INSERT INTO "inbox" VALUES(25,'slack_command','156.1794915079344.00000000000000000000009c00000000',NULL,1794915079348353,1794915079348353,0,NULL,1794915079354232);
INSERT INTO "inbox" VALUES(26,'slack_command','176.1794915079395.0000000000000000000000b000000000',NULL,1794915079396439,1794915079396439,0,NULL,1794915079416660);
INSERT INTO "inbox" VALUES(27,'slack_command','180.1794915083705.0000000000000000000000b400000000',NULL,1794915083706747,1794915083706747,0,NULL,1794915083915185);
INSERT INTO "inbox" VALUES(28,'slack_command','183.1794915083916.0000000000000000000000b700000000',NULL,1794915083928044,1794915083928044,0,NULL,1794915083973160);
INSERT INTO "inbox" VALUES(29,'slack_command','187.1794915083975.0000000000000000000000bb00000000',NULL,1794915083992458,1794915083992458,0,NULL,1794915084312778);
INSERT INTO "inbox" VALUES(30,'slack_interaction','195.1794915084924.0000000000000000000000c300000000',NULL,1794915084926889,1794915084926889,0,NULL,1794915084989373);
INSERT INTO "inbox" VALUES(31,'github','3778b64713137d5bc7931d17cf979a41619c0b1d100e6f149cd1ecf58e04619b',NULL,1794915085828941,1794915085828941,0,NULL,1794915086036645);
INSERT INTO "inbox" VALUES(32,'flux','f5292b9c7c40a6c64e36934bfdd1172a',NULL,1794915087628574,1794915087628574,0,NULL,1794915087644413);
INSERT INTO "inbox" VALUES(33,'flux','fef26803880a01525fb64b78763147ce',NULL,1794915087644413,1794915087644413,0,NULL,1794915087666634);
INSERT INTO "inbox" VALUES(34,'flux','82c1ea0f1108c0cd18d0a67ba55613d7',NULL,1794915090687757,1794915090687757,0,NULL,1794915090839096);
INSERT INTO "inbox" VALUES(35,'flux','8d7d5e9a3aaac79098b9fa9eaa86435f',NULL,1794915090839096,1794915090839096,0,NULL,1794915090982418);
INSERT INTO "inbox" VALUES(36,'slack_command','217.1794915091173.0000000000000000000000d900000000',NULL,1794915091174173,1794915091174173,0,NULL,1794915091261163);
INSERT INTO "inbox" VALUES(37,'slack_command','220.1794915091237.0000000000000000000000dc00000000',NULL,1794915091240534,1794915091240534,0,NULL,1794915091299690);
INSERT INTO "inbox" VALUES(38,'slack_interaction','233.1794915091665.0000000000000000000000e900000000',NULL,1794915091666221,1794915091666221,0,NULL,1794915091762467);
INSERT INTO "inbox" VALUES(39,'slack_command','244.1794915092305.0000000000000000000000f400000000',NULL,1794915092420686,1794915092420686,0,NULL,1794915092428523);
INSERT INTO "inbox" VALUES(40,'slack_command','247.1794915092429.0000000000000000000000f700000000',NULL,1794915092440402,1794915092440402,0,NULL,1794915092443598);
INSERT INTO "inbox" VALUES(41,'flux','f6917d2b4bcc0d7316a15fd06a13a09b',NULL,1794915094076940,1794915094076940,0,NULL,1794915094215138);
INSERT INTO "inbox" VALUES(42,'flux','e5708c0e34ccb8f89f323425c69da71c',NULL,1794915094132373,1794915094132373,0,NULL,1794915094235728);
INSERT INTO "inbox" VALUES(43,'slack_command','274.1794915096510.00000000000000000000011200000000',NULL,1794915096512806,1794915096512806,0,NULL,1794915096528843);
INSERT INTO "inbox" VALUES(44,'flux','96ef97374eafdf8b3ed90ae52c1a6381',NULL,1794915097108374,1794915097108374,0,NULL,1794915097117832);
INSERT INTO "inbox" VALUES(45,'flux','8b10d4ce0e8f71b5f169c6a64b018f0a',NULL,1794915098536428,1794915098536428,0,NULL,1794915098612057);
INSERT INTO "inbox" VALUES(46,'flux','11acddfd0b1c56984257a8e1b6afca0d',NULL,1794915101692586,1794915101692586,0,NULL,1794915101712899);
INSERT INTO "inbox" VALUES(47,'slack_command','277.1794915102565.00000000000000000000011500000000',NULL,1794915102566122,1794915102566122,0,NULL,1794915102653058);
CREATE TABLE ledger (
    id          INTEGER PRIMARY KEY,
    at          BIGINT  NOT NULL,
    change_id   TEXT,
    kind        TEXT    NOT NULL,
    artefact    TEXT,
    environment TEXT,
    actor       TEXT,
    body        TEXT    NOT NULL
);
INSERT INTO "ledger" VALUES(1,1794914970774040,'01a1e944-ec95-7ac9-8588-572d41f58189','begun','checkout','prod','{"person":"U0ALICE"}','{"pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","stage":{"approvals":[],"asked":[{"group":{"handle":"release-managers","id":"S0RELEASE"}}],"deadline":"2026-11-17T11:44:30.773178119Z","ignored":[],"name":"awaiting_approval","nudged":false,"required":1,"since":"2026-11-17T11:29:30.773178119Z","trouble":null,"voided":null,"waits_for":[]},"version":{"commit":"2234060be4b719bd96a766d52d1dd02c28449dee","digest":null,"tag":"staging-2234060"}}');
INSERT INTO "ledger" VALUES(2,1794914971032976,'01a1e944-ec95-7ac9-8588-572d41f58189','approved','checkout','prod','{"person":"U0BOB"}','{"pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","stage":{"approvals":[],"asked":[{"group":{"handle":"release-managers","id":"S0RELEASE"}}],"deadline":"2026-11-17T11:44:30.773178119Z","ignored":[],"name":"awaiting_approval","nudged":false,"required":1,"since":"2026-11-17T11:29:30.773178119Z","trouble":null,"voided":null,"waits_for":["mergeability"]},"version":{"commit":"2234060be4b719bd96a766d52d1dd02c28449dee","digest":null,"tag":"staging-2234060"}}');
INSERT INTO "ledger" VALUES(3,1794914971065008,'01a1e944-ec95-7ac9-8588-572d41f58189','merging','checkout','prod','"controller"','{"pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","stage":{"awaiting":{"approvals":[{"at":"2026-11-17T11:29:31.026619449Z","by":"U0BOB","way":"slack"}],"asked":[{"group":{"handle":"release-managers","id":"S0RELEASE"}}],"deadline":"2026-11-17T11:44:30.773178119Z","ignored":[],"nudged":false,"required":1,"since":"2026-11-17T11:29:30.773178119Z","trouble":null,"voided":null,"waits_for":[]},"begun":false,"name":"merging","trouble":null},"version":{"commit":"2234060be4b719bd96a766d52d1dd02c28449dee","digest":null,"tag":"staging-2234060"}}');
INSERT INTO "ledger" VALUES(4,1794914971118684,'01a1e944-ec95-7ac9-8588-572d41f58189','deploying','checkout','prod','"controller"','{"pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","stage":{"approvals":[{"at":"2026-11-17T11:29:31.026619449Z","by":"U0BOB","way":"slack"}],"by_hand":null,"deadline":"2026-11-17T11:31:01.118400734Z","merged_at":"2026-11-17T11:29:31.118400734Z","name":"deploying","nudge":null,"others":[],"result":"004e05091c0615adab1dd14f2e293aeaea19ab35","rollout":null,"tag":"not_yet","trouble":null,"unseen":null},"version":{"commit":"2234060be4b719bd96a766d52d1dd02c28449dee","digest":null,"tag":"staging-2234060"}}');
INSERT INTO "ledger" VALUES(5,1794914973125382,NULL,'report',NULL,'prod','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"prod"},"at":"2026-11-17T11:29:33.118043349Z","commit":"004e05091c0615adab1dd14f2e293aeaea19ab35","environment":"prod","key":"a5ec97cda94b49b115c253dbbf761298","message":"Deployment/prod/checkout configured","outcome":"progressing","revision":"prod@sha1:004e05091c0615adab1dd14f2e293aeaea19ab35"}');
INSERT INTO "ledger" VALUES(6,1794914977665950,NULL,'report',NULL,'prod','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"prod"},"at":"2026-11-17T11:29:37.630543153Z","commit":"004e05091c0615adab1dd14f2e293aeaea19ab35","environment":"prod","key":"248afb8cb87bdebcd2bcd1111ac91b74","message":"Reconciliation finished in 4.5s, next run in 10m0s","outcome":"succeeded","revision":"prod@sha1:004e05091c0615adab1dd14f2e293aeaea19ab35"}');
INSERT INTO "ledger" VALUES(7,1794914977673528,'01a1e944-ec95-7ac9-8588-572d41f58189','deployed','checkout','prod','"controller"','{"pinned":"2234060be4b719bd96a766d52d1dd02c28449dee","stage":{"at":"2026-11-17T11:29:37.673280507Z","deploying":{"approvals":[{"at":"2026-11-17T11:29:31.026619449Z","by":"U0BOB","way":"slack"}],"by_hand":null,"deadline":"2026-11-17T11:31:01.118400734Z","merged_at":"2026-11-17T11:29:31.118400734Z","nudge":null,"others":[],"result":"004e05091c0615adab1dd14f2e293aeaea19ab35","rollout":null,"tag":{"made":{"at":"2026-11-17T11:29:31.200469378Z","name":"prod/2026.11.17-1"}},"trouble":null,"unseen":null},"name":"deployed","proof":"tag","ready":3},"version":{"commit":"2234060be4b719bd96a766d52d1dd02c28449dee","digest":null,"tag":"staging-2234060"}}');
INSERT INTO "ledger" VALUES(8,1794914979876081,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:29:39.867346301Z","commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","environment":"development","key":"fe6703d979068bd55a2922913cc17679","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:43c54d5cbbb7f1f5da55628003a9fb90ae621479"}');
INSERT INTO "ledger" VALUES(9,1794914979877321,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:29:39.868375271Z","commit":"0f76c2fee705abc6b450a2e23317c6f5d6887f15","environment":"development","key":"c6465b052fd784b27c76ce0676dac9b2","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:0f76c2fee705abc6b450a2e23317c6f5d6887f15"}');
INSERT INTO "ledger" VALUES(10,1794914982882562,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","digest":null,"tag":"develop-43c54d5"}}');
INSERT INTO "ledger" VALUES(11,1794914982893609,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"ecb95fa7ffed499ae35d7f4862eb7133fb2cbca5","digest":null,"tag":"1.0.3"}}');
INSERT INTO "ledger" VALUES(12,1794914982898071,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:29:42.879966675Z","commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","environment":"development","key":"6bf77ddcc83682869a286d3b76770924","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:43c54d5cbbb7f1f5da55628003a9fb90ae621479"}');
INSERT INTO "ledger" VALUES(13,1794914982902524,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:29:42.881553564Z","commit":"0f76c2fee705abc6b450a2e23317c6f5d6887f15","environment":"development","key":"b6446498ebcb89644e35d064b109d9d2","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:0f76c2fee705abc6b450a2e23317c6f5d6887f15"}');
INSERT INTO "ledger" VALUES(14,1794914986155720,'01a1e945-28ab-7806-9770-2d0a6e81975c','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","stage":{"awaiting":null,"begun":false,"name":"merging","trouble":null},"version":{"commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","digest":null,"tag":"develop-43c54d5"}}');
INSERT INTO "ledger" VALUES(15,1794914986175786,'01a1e945-28ab-7806-9770-2d0a6e81975c','deploying','checkout','qa','"controller"','{"pinned":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","stage":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:16.175589111Z","merged_at":"2026-11-17T11:29:46.175589111Z","name":"deploying","nudge":null,"others":[],"result":"420bfa0242a970b5986748107387898f3ea4777a","rollout":null,"tag":"not_yet","trouble":null,"unseen":null},"version":{"commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","digest":null,"tag":"develop-43c54d5"}}');
INSERT INTO "ledger" VALUES(16,1794914988191259,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:29:48.180635601Z","commit":"420bfa0242a970b5986748107387898f3ea4777a","environment":"qa","key":"1ee4d52ccb8f656b890b0d672ce85aa4","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:420bfa0242a970b5986748107387898f3ea4777a"}');
INSERT INTO "ledger" VALUES(17,1794914991213289,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:29:51.202049409Z","commit":"420bfa0242a970b5986748107387898f3ea4777a","environment":"qa","key":"c09431b82c8ae567ddec2cc8b5588ebb","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:420bfa0242a970b5986748107387898f3ea4777a"}');
INSERT INTO "ledger" VALUES(18,1794914991231159,'01a1e945-28ab-7806-9770-2d0a6e81975c','deployed','checkout','qa','"controller"','{"pinned":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","stage":{"at":"2026-11-17T11:29:51.230932464Z","deploying":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:16.175589111Z","merged_at":"2026-11-17T11:29:46.175589111Z","nudge":null,"others":[],"result":"420bfa0242a970b5986748107387898f3ea4777a","rollout":null,"tag":{"made":{"at":"2026-11-17T11:29:46.190938083Z","name":"qa/2026.11.17-1"}},"trouble":null,"unseen":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"43c54d5cbbb7f1f5da55628003a9fb90ae621479","digest":null,"tag":"develop-43c54d5"}}');
INSERT INTO "ledger" VALUES(19,1794914995646712,'01a1e945-4dbe-75c8-b7f1-523c6b038a7d','begun','checkout','staging','{"person":"U0ALICE"}','{"pinned":"420bfa0242a970b5986748107387898f3ea4777a","stage":{"awaiting":null,"begun":false,"name":"merging","trouble":null},"version":{"commit":"420bfa0242a970b5986748107387898f3ea4777a","digest":null,"tag":"qa-420bfa0"}}');
INSERT INTO "ledger" VALUES(20,1794914995719058,'01a1e945-4dbe-75c8-b7f1-523c6b038a7d','deploying','checkout','staging','"controller"','{"pinned":"420bfa0242a970b5986748107387898f3ea4777a","stage":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:25.718755978Z","merged_at":"2026-11-17T11:29:55.718755978Z","name":"deploying","nudge":null,"others":[],"result":"41b032ed54615554efaae28714871ca1889577e8","rollout":null,"tag":"not_yet","trouble":null,"unseen":null},"version":{"commit":"420bfa0242a970b5986748107387898f3ea4777a","digest":null,"tag":"qa-420bfa0"}}');
INSERT INTO "ledger" VALUES(21,1794914997731131,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:29:57.723177949Z","commit":"41b032ed54615554efaae28714871ca1889577e8","environment":"staging","key":"ae25facd47565f5e9325f43002d49b0a","message":"Deployment/staging/checkout configured","outcome":"progressing","revision":"staging@sha1:41b032ed54615554efaae28714871ca1889577e8"}');
INSERT INTO "ledger" VALUES(22,1794915000810660,'01a1e945-4dbe-75c8-b7f1-523c6b038a7d','deployed','checkout','staging','"controller"','{"pinned":"420bfa0242a970b5986748107387898f3ea4777a","stage":{"at":"2026-11-17T11:30:00.810324612Z","deploying":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:25.718755978Z","merged_at":"2026-11-17T11:29:55.718755978Z","nudge":null,"others":[],"result":"41b032ed54615554efaae28714871ca1889577e8","rollout":null,"tag":{"made":{"at":"2026-11-17T11:29:55.747001144Z","name":"staging/2026.11.17-1"}},"trouble":null,"unseen":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"420bfa0242a970b5986748107387898f3ea4777a","digest":null,"tag":"qa-420bfa0"}}');
INSERT INTO "ledger" VALUES(23,1794915000817787,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:30:00.741043952Z","commit":"41b032ed54615554efaae28714871ca1889577e8","environment":"staging","key":"29873ffe9fd7d254ece4cc8e4daa6432","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"staging@sha1:41b032ed54615554efaae28714871ca1889577e8"}');
INSERT INTO "ledger" VALUES(24,1794915003228827,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:30:03.086269157Z","commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","environment":"development","key":"81bbf9eb4f3156a8eadaa1be0d053219","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:68d598534769ea70e0b3d81aae0a4914499f99d4"}');
INSERT INTO "ledger" VALUES(25,1794915006137352,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","digest":null,"tag":"develop-68d5985"}}');
INSERT INTO "ledger" VALUES(26,1794915006141516,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:30:06.103583821Z","commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","environment":"development","key":"e9541c6c40e55506ee9445d5e4d2dd8b","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:68d598534769ea70e0b3d81aae0a4914499f99d4"}');
INSERT INTO "ledger" VALUES(27,1794915006563710,'01a1e945-7863-7d1b-ae00-dcf6d48d15ef','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"68d598534769ea70e0b3d81aae0a4914499f99d4","stage":{"awaiting":null,"begun":false,"name":"merging","trouble":null},"version":{"commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","digest":null,"tag":"develop-68d5985"}}');
INSERT INTO "ledger" VALUES(28,1794915006612828,'01a1e945-7863-7d1b-ae00-dcf6d48d15ef','deploying','checkout','qa','"controller"','{"pinned":"68d598534769ea70e0b3d81aae0a4914499f99d4","stage":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:36.612613623Z","merged_at":"2026-11-17T11:30:06.612613623Z","name":"deploying","nudge":null,"others":[],"result":"24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e","rollout":null,"tag":"not_yet","trouble":null,"unseen":null},"version":{"commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","digest":null,"tag":"develop-68d5985"}}');
INSERT INTO "ledger" VALUES(29,1794915008654438,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:30:08.616867955Z","commit":"24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e","environment":"qa","key":"358b34d4ddd63dd906ffe2d32d73b667","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e"}');
INSERT INTO "ledger" VALUES(30,1794915016171246,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:30:16.136274357Z","commit":"24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e","environment":"qa","key":"1e904184a8d2919942dceef3de753eba","message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']","outcome":{"failed":{"message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']"}},"revision":"qa@sha1:24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e"}');
INSERT INTO "ledger" VALUES(31,1794915016182763,'01a1e945-7863-7d1b-ae00-dcf6d48d15ef','failed','checkout','qa','"controller"','{"pinned":"68d598534769ea70e0b3d81aae0a4914499f99d4","stage":{"at":"2026-11-17T11:30:16.182444836Z","deploying":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:31:36.612613623Z","merged_at":"2026-11-17T11:30:06.612613623Z","nudge":null,"others":[],"result":"24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e","rollout":null,"tag":{"made":{"at":"2026-11-17T11:30:06.645262337Z","name":"qa/2026.11.17-2"}},"trouble":null,"unseen":null},"name":"failed","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"},"version":{"commit":"68d598534769ea70e0b3d81aae0a4914499f99d4","digest":null,"tag":"develop-68d5985"}}');
INSERT INTO "ledger" VALUES(32,1794915084988978,'01a1e946-aab8-71df-81a3-3372a1b9a96e','begun','checkout','prod','{"person":"U0ALICE"}','{"pinned":"41b032ed54615554efaae28714871ca1889577e8","stage":{"approvals":[],"asked":[{"group":{"handle":"release-managers","id":"S0RELEASE"}}],"deadline":"2026-11-17T11:46:24.9848989Z","ignored":[],"name":"awaiting_approval","nudged":false,"required":1,"since":"2026-11-17T11:31:24.9848989Z","trouble":null,"voided":null,"waits_for":[]},"version":{"commit":"41b032ed54615554efaae28714871ca1889577e8","digest":null,"tag":"staging-41b032e"}}');
INSERT INTO "ledger" VALUES(33,1794915087635561,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:31:27.523309578Z","commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","environment":"development","key":"f5292b9c7c40a6c64e36934bfdd1172a","message":"StatefulSet/development/mailer configured\nDeployment/development/mailer-web configured","outcome":"progressing","revision":"develop@sha1:719cedf6c434dc04badd6f96d9f76147fbdc8a78"}');
INSERT INTO "ledger" VALUES(34,1794915087659021,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:31:27.523941057Z","commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","environment":"development","key":"fef26803880a01525fb64b78763147ce","message":"Deployment/development/storefront configured","outcome":"progressing","revision":"develop@sha1:719cedf6c434dc04badd6f96d9f76147fbdc8a78"}');
INSERT INTO "ledger" VALUES(35,1794915090705601,NULL,'arrived','storefront','development','"controller"','{"failed":null,"version":{"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","digest":null,"tag":"develop-719cedf"}}');
INSERT INTO "ledger" VALUES(36,1794915090836215,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:31:30.658393863Z","commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","environment":"development","key":"82c1ea0f1108c0cd18d0a67ba55613d7","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:719cedf6c434dc04badd6f96d9f76147fbdc8a78"}');
INSERT INTO "ledger" VALUES(37,1794915090981871,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:31:30.659162406Z","commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","environment":"development","key":"8d7d5e9a3aaac79098b9fa9eaa86435f","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:719cedf6c434dc04badd6f96d9f76147fbdc8a78"}');
INSERT INTO "ledger" VALUES(38,1794915090990347,NULL,'arrived','mailer','development','"controller"','{"failed":null,"version":{"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","digest":null,"tag":"build-9"}}');
INSERT INTO "ledger" VALUES(39,1794915091762261,'01a1e946-c532-7f08-bec4-250349bdc6b3','begun','storefront','qa','{"person":"U0ALICE"}','{"pinned":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","stage":{"awaiting":null,"begun":false,"name":"merging","trouble":null},"version":{"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","digest":null,"tag":"develop-719cedf"}}');
INSERT INTO "ledger" VALUES(40,1794915092025834,'01a1e946-c532-7f08-bec4-250349bdc6b3','deploying','storefront','qa','"controller"','{"pinned":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","stage":{"approvals":[],"by_hand":null,"deadline":"2026-11-17T11:33:02.025557635Z","merged_at":"2026-11-17T11:31:32.025557635Z","name":"deploying","nudge":null,"others":[],"result":"f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d","rollout":null,"tag":"not_yet","trouble":null,"unseen":null},"version":{"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","digest":null,"tag":"develop-719cedf"}}');
INSERT INTO "ledger" VALUES(41,1794915092424865,NULL,'locked','mailer','staging','{"person":"U0ALICE"}','{"lock":{"artefact":"mailer","by":"U0ALICE","environment":"staging","id":"01a1e946-c7c8-7618-a55c-405f2bf5e893","reason":"Moving its queue","since":"2026-11-17T11:31:32.42485386Z","until":"2026-11-17T13:31:32.42485386Z"}}');
INSERT INTO "ledger" VALUES(42,1794915092443478,NULL,'locked',NULL,'prod','{"person":"U0CAROL"}','{"lock":{"artefact":null,"by":"U0CAROL","environment":"prod","id":"01a1e946-c7db-72b8-a59a-051e782543e5","reason":"The shop is full","since":"2026-11-17T11:31:32.443466745Z","until":null}}');
INSERT INTO "ledger" VALUES(43,1794915094133253,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:31:34.060908863Z","commit":"f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d","environment":"qa","key":"f6917d2b4bcc0d7316a15fd06a13a09b","message":"StatefulSet/qa/mailer configured\nDeployment/qa/mailer-web configured","outcome":"progressing","revision":"qa@sha1:f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d"}');
INSERT INTO "ledger" VALUES(44,1794915094218400,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"qa"},"at":"2026-11-17T11:31:34.061725688Z","commit":"f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d","environment":"qa","key":"e5708c0e34ccb8f89f323425c69da71c","message":"Deployment/qa/storefront configured","outcome":"progressing","revision":"qa@sha1:f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d"}');
INSERT INTO "ledger" VALUES(45,1794915097117763,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:31:37.090379616Z","commit":"f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d","environment":"qa","key":"96ef97374eafdf8b3ed90ae52c1a6381","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d"}');
INSERT INTO "ledger" VALUES(46,1794915098611968,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:31:38.508771642Z","commit":"c054f5f777b5791609fbb4a752f4267ef56a5fc9","environment":"development","key":"8b10d4ce0e8f71b5f169c6a64b018f0a","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:c054f5f777b5791609fbb4a752f4267ef56a5fc9"}');
INSERT INTO "ledger" VALUES(47,1794915101545612,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"ef9c3298bb2ba43ecd67ccf6888af913702f0783","digest":null,"tag":"1.0.4"}}');
INSERT INTO "ledger" VALUES(48,1794915101712807,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:31:41.5687839Z","commit":"c054f5f777b5791609fbb4a752f4267ef56a5fc9","environment":"development","key":"11acddfd0b1c56984257a8e1b6afca0d","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:c054f5f777b5791609fbb4a752f4267ef56a5fc9"}');
CREATE TABLE lock (
    id          TEXT   PRIMARY KEY,
    environment TEXT   NOT NULL,
    -- Empty for the whole environment: to a unique index no NULL is like another.
    artefact    TEXT   NOT NULL,
    person      TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    since       BIGINT NOT NULL,
    until       BIGINT,
    -- When its owner is asked whether it is still needed.
    nudge_at    BIGINT NOT NULL,
    UNIQUE (environment, artefact)
);
INSERT INTO "lock" VALUES('01a1e946-c7c8-7618-a55c-405f2bf5e893','staging','mailer','U0ALICE','Moving its queue',1794915092424853,1794922292424854,1795001492424854);
INSERT INTO "lock" VALUES('01a1e946-c7db-72b8-a59a-051e782543e5','prod','','U0CAROL','The shop is full',1794915092443466,NULL,1795001492443467);
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    queue      TEXT    NOT NULL,
    key        TEXT    UNIQUE,
    body       TEXT    NOT NULL,
    revision   BIGINT  NOT NULL DEFAULT 0,
    created_at BIGINT  NOT NULL,
    due_at     BIGINT  NOT NULL,
    attempts   BIGINT  NOT NULL DEFAULT 0,
    error      TEXT
);
INSERT INTO "outbox" VALUES(1,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000007N","until":"2026-11-17T12:01:36.512806Z"},"replace":false}},"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794915096528843,1794915104118444,3,'the response URL was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(2,'#deploys','card:01a1e946-c532-7f08-bec4-250349bdc6b3','{"to":{"post":{"channel":"#deploys","key":"card:01a1e946-c532-7f08-bec4-250349bdc6b3","thread":null,"asked":{"person":"U0ALICE","channel":"C0DEPLOYS"}}},"text":"*storefront* `develop-719cedf`: deploying to *qa*, 0 of 2 ready","blocks":[{"text":{"text":":hourglass_flowing_sand: *storefront* `develop-719cedf`: deploying to *qa*, 0 of 2 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":":white_check_mark: merged into `qa` as <http://127.0.0.1:8484/sim/github/acme/shop/commit/f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d|f2f8353> · 0 s\n:white_check_mark: tagged `qa/2026.11.17-1` · 0 s\n:hourglass_flowing_sand: the cluster rolls it out\n:small_blue_diamond: *mailer* `build-10` runs, 4 of 4 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":"`qa-4da29e4` → `develop-719cedf`, commit `719cedf` as it runs in development · <http://127.0.0.1:8484/sim/github/acme/shop/compare/4da29e44e5b02de0ffbcb506bc18c249b74730bd...719cedf6c434dc04badd6f96d9f76147fbdc8a78|compare>\nruns well in development since <!date^1794915090^{date_short_pretty} {time}|2026-11-17 11:31 UTC>\n1 commit:\n• <http://127.0.0.1:8484/sim/github/acme/shop/commit/719cedf6c434dc04badd6f96d9f76147fbdc8a78|719cedf> Show the basket · Alice Adler","type":"mrkdwn"},"type":"section"},{"text":{"text":":twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer* (only built anew)","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"asked by <@U0ALICE> · <!date^1794915091^{date_short_pretty} {time}|2026-11-17 11:31 UTC> · change `49bdc6b3`","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794915097161797,1794915111979903,4,'chat.update was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(3,'#deploys','arrival:development:search:1794915098517069','{"to":{"post":{"channel":"#deploys","key":"arrival:development:search:1794915098517069","thread":null,"asked":null}},"text":"search 1.0.4 runs in development","blocks":[{"text":{"text":":large_green_circle: *search* `1.0.4` runs in *development*\n<http://127.0.0.1:8484/sim/github/acme/search/commit/ef9c3298bb2ba43ecd67ccf6888af913702f0783|ef9c329> Sort by price · Alice Adler · rolled out in 3 s","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: `/promote search qa`","type":"mrkdwn"}],"type":"context"},{"elements":[{"action_id":"arrival_promote","text":{"text":"Promote","type":"plain_text"},"type":"button","value":"arrival:development:search:1794915098517069"}],"type":"actions"}],"plain":null}',0,1794915101545740,1794915101545740,0,NULL);
INSERT INTO "outbox" VALUES(4,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000007Q","until":"2026-11-17T12:01:42.566122Z"},"replace":false}},"text":"*checkout* `qa-24a3dc7` does not run well in *qa*: ReplicaSet \"checkout-6b0001a4\" has timed out progressing.","blocks":[{"text":{"text":"*checkout* `qa-24a3dc7` does not run well in *qa*: ReplicaSet \"checkout-6b0001a4\" has timed out progressing.","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794915102653058,1794915102653058,0,NULL);
CREATE TABLE plan (
    id      TEXT   PRIMARY KEY,
    person  TEXT   NOT NULL,
    body    TEXT   NOT NULL,
    made_at BIGINT NOT NULL
);
INSERT INTO "plan" VALUES('01a1e946-c337-7320-a690-732bd2531ca7','U0CAROL','{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","version":{"tag":"develop-719cedf","digest":null,"commit":"719cedf6c434dc04badd6f96d9f76147fbdc8a78"},"from":{"tag":"qa-4da29e4","digest":null,"commit":"4da29e44e5b02de0ffbcb506bc18c249b74730bd"},"commits":[{"sha":"719cedf6c434dc04badd6f96d9f76147fbdc8a78","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/719cedf6c434dc04badd6f96d9f76147fbdc8a78"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/4da29e44e5b02de0ffbcb506bc18c249b74730bd...719cedf6c434dc04badd6f96d9f76147fbdc8a78","head":"4da29e44e5b02de0ffbcb506bc18c249b74730bd","behind_by":1,"promote":"merge","well_since":"2026-11-17T11:31:30.689565411Z","green_checks":0,"supersedes":null,"overridden":null}',1794915091255219);
CREATE TABLE said (
    key     TEXT   PRIMARY KEY,
    queue   TEXT   NOT NULL,
    channel TEXT   NOT NULL,
    ts      TEXT   NOT NULL,
    note    TEXT,
    said_at BIGINT NOT NULL
);
INSERT INTO "said" VALUES('card:01a1e944-ec95-7ac9-8588-572d41f58189','#releases','C0RELEASES','1794914970.785000',NULL,1794914977677033);
INSERT INTO "said" VALUES('deployed:1794914977673581:01a1e944-ec95-7ac9-8588-572d41f58189','#releases','C0RELEASES','1794914977.782300',NULL,1794914977782775);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914979871674','#deploys','C0DEPLOYS','1794914982.893100',NULL,1794914982894310);
INSERT INTO "said" VALUES('arrival:development:search:1794914979871699','#deploys','C0DEPLOYS','1794914982.900900',NULL,1794914982901749);
INSERT INTO "said" VALUES('card:01a1e945-28ab-7806-9770-2d0a6e81975c','#deploys','C0DEPLOYS','1794914986.165800',NULL,1794914991238798);
INSERT INTO "said" VALUES('deployed:1794914991231209:01a1e945-28ab-7806-9770-2d0a6e81975c','#deploys','C0DEPLOYS','1794914991.241200',NULL,1794914991244512);
INSERT INTO "said" VALUES('card:01a1e945-4dbe-75c8-b7f1-523c6b038a7d','#deploys','C0DEPLOYS','1794914995.676700',NULL,1794915000824002);
INSERT INTO "said" VALUES('deployed:1794915000810731:01a1e945-4dbe-75c8-b7f1-523c6b038a7d','#deploys','C0DEPLOYS','1794915000.827500',NULL,1794915000827814);
INSERT INTO "said" VALUES('arrival:development:checkout:1794915003206254','#deploys','C0DEPLOYS','1794915006.169800',NULL,1794915006177646);
INSERT INTO "said" VALUES('card:01a1e945-7863-7d1b-ae00-dcf6d48d15ef','#deploys','C0DEPLOYS','1794915006.588800',NULL,1794915016224953);
INSERT INTO "said" VALUES('failed:1794915016182818:01a1e945-7863-7d1b-ae00-dcf6d48d15ef','#deploys','C0DEPLOYS','1794915016.232000',NULL,1794915016232502);
INSERT INTO "said" VALUES('card:01a1e946-aab8-71df-81a3-3372a1b9a96e','#releases','C0RELEASES','1794915085.424500',NULL,1794915086044452);
INSERT INTO "said" VALUES('details:01a1e946-aab8-71df-81a3-3372a1b9a96e','#releases','C0RELEASES','1794915085.430300',NULL,1794915085430701);
INSERT INTO "said" VALUES('arrival:development:storefront:1794915087584664','#deploys','C0DEPLOYS','1794915090.868900',NULL,1794915090876564);
INSERT INTO "said" VALUES('arrival:development:mailer:1794915087628902','#deploys','C0DEPLOYS','1794915091.022700',NULL,1794915091023248);
INSERT INTO "said" VALUES('card:01a1e946-c532-7f08-bec4-250349bdc6b3','#deploys','C0DEPLOYS','1794915091.943800',NULL,1794915094845935);
INSERT INTO "said" VALUES('lock:01a1e946-c7db-72b8-a59a-051e782543e5','#releases','C0RELEASES','1794915092.459100',NULL,1794915092465044);
INSERT INTO "said" VALUES('lock:01a1e946-c7c8-7618-a55c-405f2bf5e893','#deploys','C0DEPLOYS','1794915093.852200',NULL,1794915093852782);
CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE sighting (
    id          INTEGER PRIMARY KEY,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    tag         TEXT,
    digest      TEXT,
    commit_sha  TEXT,
    seen_at     BIGINT  NOT NULL,
    running_at  BIGINT,
    failed      TEXT,
    ended_at    BIGINT,
    announced   BOOLEAN NOT NULL
, well_since BIGINT);
INSERT INTO "sighting" VALUES(1,'checkout','development','develop-825add6',NULL,'825add65bc61068f3b86e449246358e929bff9cd',1794400168221290,1794400168221290,NULL,1794486568221290,1,1794400168221290);
INSERT INTO "sighting" VALUES(2,'checkout','development','develop-321948b',NULL,'321948b7d802c7bafb83492f472ef4c4ba628966',1794486568221290,1794486568221290,NULL,1794572968221290,1,1794486568221290);
INSERT INTO "sighting" VALUES(3,'checkout','qa','qa-825add6',NULL,'825add65bc61068f3b86e449246358e929bff9cd',1794493768221290,1794493768221290,NULL,1794580168221290,1,1794493768221290);
INSERT INTO "sighting" VALUES(4,'checkout','development','develop-89e0355',NULL,'89e0355966dd01d4163df1506cccddc426d72c2b',1794572968221290,1794572968221290,NULL,1794659368221290,1,1794572968221290);
INSERT INTO "sighting" VALUES(5,'checkout','qa','qa-2c5ef28',NULL,'2c5ef28d6a55d2b0e2515facba5d25f40e0a9535',1794580168221290,1794580168221290,NULL,1794666568221290,1,1794580168221290);
INSERT INTO "sighting" VALUES(6,'checkout','staging','staging-825add6',NULL,'825add65bc61068f3b86e449246358e929bff9cd',1794583768221290,1794583768221290,NULL,1794670168221290,1,1794583768221290);
INSERT INTO "sighting" VALUES(7,'checkout','development','develop-06e0c88',NULL,'06e0c880a6ecef0cb3d428301ed0da43dea320e2',1794659368221290,1794659368221290,NULL,1794745768221290,1,1794659368221290);
INSERT INTO "sighting" VALUES(8,'checkout','qa','qa-129c48d',NULL,'129c48de65ea2659b4acc344600abf61702aba19',1794666568221290,1794666568221290,NULL,1794752968221290,1,1794666568221290);
INSERT INTO "sighting" VALUES(9,'checkout','staging','staging-4f92524',NULL,'4f9252423877441d7d40ff4e1f344401d1a3133f',1794670168221290,1794670168221290,NULL,1794756568221290,1,1794670168221290);
INSERT INTO "sighting" VALUES(10,'checkout','prod','prod-825add6',NULL,'825add65bc61068f3b86e449246358e929bff9cd',1794673768221290,1794673768221290,NULL,1794760168221290,1,1794673768221290);
INSERT INTO "sighting" VALUES(11,'checkout','development','develop-cecdd12',NULL,'cecdd122e608494b154374799e8295d8b8827422',1794745768221290,1794745768221290,NULL,1794832168221290,1,1794745768221290);
INSERT INTO "sighting" VALUES(12,'checkout','qa','qa-11cef63',NULL,'11cef6341811d05536cb227129fbf1eb9df65459',1794752968221290,1794752968221290,NULL,1794839368221290,1,1794752968221290);
INSERT INTO "sighting" VALUES(13,'checkout','staging','staging-da686ba',NULL,'da686ba609db0430aab9c93feba0a16cf222a4fb',1794756568221290,1794756568221290,NULL,1794842968221290,1,1794756568221290);
INSERT INTO "sighting" VALUES(14,'checkout','prod','prod-ce498d2',NULL,'ce498d2c1afe9c6691c2bee6bb885089893b85fb',1794760168221290,1794760168221290,NULL,1794846568221290,1,1794760168221290);
INSERT INTO "sighting" VALUES(15,'checkout','development','develop-9b1a023',NULL,'9b1a0238daee57ec9541f253cc77529d9573c51d',1794832168221290,1794832168221290,NULL,1794914979871674,1,1794832168221290);
INSERT INTO "sighting" VALUES(16,'checkout','qa','qa-18b203e',NULL,'18b203e901caf0474684b60ff61b339424eaedb8',1794839368221290,1794839368221290,NULL,1794914988182524,1,1794839368221290);
INSERT INTO "sighting" VALUES(17,'checkout','staging','staging-2234060',NULL,'2234060be4b719bd96a766d52d1dd02c28449dee',1794842968221290,1794842968221290,NULL,1794914997724795,1,1794842968221290);
INSERT INTO "sighting" VALUES(18,'checkout','prod','prod-67cbe0e',NULL,'67cbe0e9b18af716b2cdc18521fa6390b8598550',1794846568221290,1794846568221290,NULL,1794914973122118,1,1794846568221290);
INSERT INTO "sighting" VALUES(19,'mailer','development','build-1',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794400168221290,1794400168221290,NULL,1794486568221290,1,1794400168221290);
INSERT INTO "sighting" VALUES(20,'storefront','development','develop-f4bc1aa',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794400168221290,1794400168221290,NULL,1794486568221290,1,1794400168221290);
INSERT INTO "sighting" VALUES(21,'mailer','qa','build-2',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794407368221290,1794407368221290,NULL,1794493768221290,1,1794407368221290);
INSERT INTO "sighting" VALUES(22,'storefront','qa','qa-f4bc1aa',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794407368221290,1794407368221290,NULL,1794493768221290,1,1794407368221290);
INSERT INTO "sighting" VALUES(23,'mailer','staging','build-3',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794410968221290,1794410968221290,NULL,1794497368221290,1,1794410968221290);
INSERT INTO "sighting" VALUES(24,'storefront','staging','staging-f4bc1aa',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794410968221290,1794410968221290,NULL,1794497368221290,1,1794410968221290);
INSERT INTO "sighting" VALUES(25,'mailer','prod','build-4',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794414568221290,1794414568221290,NULL,1794500968221290,1,1794414568221290);
INSERT INTO "sighting" VALUES(26,'storefront','prod','prod-f4bc1aa',NULL,'f4bc1aa505db7b2fb08b52e2de422a46cf9bcc58',1794414568221290,1794414568221290,NULL,1794500968221290,1,1794414568221290);
INSERT INTO "sighting" VALUES(27,'mailer','development','build-5',NULL,'2d3b11df3a6f77d375da6adf0a9cb08b4fa7cbf8',1794486568221290,1794486568221290,NULL,1794915087628902,1,1794486568221290);
INSERT INTO "sighting" VALUES(28,'storefront','development','develop-2d3b11d',NULL,'2d3b11df3a6f77d375da6adf0a9cb08b4fa7cbf8',1794486568221290,1794486568221290,NULL,1794915087584664,1,1794486568221290);
INSERT INTO "sighting" VALUES(29,'mailer','qa','build-6',NULL,'4da29e44e5b02de0ffbcb506bc18c249b74730bd',1794493768221290,1794493768221290,NULL,1794915094108732,1,1794493768221290);
INSERT INTO "sighting" VALUES(30,'storefront','qa','qa-4da29e4',NULL,'4da29e44e5b02de0ffbcb506bc18c249b74730bd',1794493768221290,1794493768221290,NULL,1794915094217069,1,1794493768221290);
INSERT INTO "sighting" VALUES(31,'mailer','staging','build-7',NULL,'741fb67dc003492de93a59d9d188f5301950286a',1794497368221290,1794497368221290,NULL,NULL,1,1794497368221290);
INSERT INTO "sighting" VALUES(32,'storefront','staging','staging-741fb67',NULL,'741fb67dc003492de93a59d9d188f5301950286a',1794497368221290,1794497368221290,NULL,NULL,1,1794497368221290);
INSERT INTO "sighting" VALUES(33,'mailer','prod','build-8',NULL,'9dd2bf2ebe572a49f0e351ffe7d18b11ede6ce6c',1794500968221290,1794500968221290,NULL,NULL,1,1794500968221290);
INSERT INTO "sighting" VALUES(34,'storefront','prod','prod-9dd2bf2',NULL,'9dd2bf2ebe572a49f0e351ffe7d18b11ede6ce6c',1794500968221290,1794500968221290,NULL,NULL,1,1794500968221290);
INSERT INTO "sighting" VALUES(35,'search','development','1.0.1',NULL,'b55ac98e11ad62396ce025e5708432d5eca9920e',1794403768221290,1794403768221290,NULL,1794490168221290,1,1794403768221290);
INSERT INTO "sighting" VALUES(36,'search','qa','1.0.1',NULL,'b55ac98e11ad62396ce025e5708432d5eca9920e',1794407368221290,1794407368221290,NULL,1794493768221290,1,1794407368221290);
INSERT INTO "sighting" VALUES(37,'search','staging','1.0.1',NULL,'b55ac98e11ad62396ce025e5708432d5eca9920e',1794410968221290,1794410968221290,NULL,1794497368221290,1,1794410968221290);
INSERT INTO "sighting" VALUES(38,'search','prod','1.0.1',NULL,'b55ac98e11ad62396ce025e5708432d5eca9920e',1794414568221290,1794414568221290,NULL,1794500968221290,1,1794414568221290);
INSERT INTO "sighting" VALUES(39,'search','development','1.0.2',NULL,'bffa81f1e74c7b0954fad297215f2d3316137ff3',1794490168221290,1794490168221290,NULL,1794914979871699,1,1794490168221290);
INSERT INTO "sighting" VALUES(40,'search','qa','1.0.2',NULL,'bffa81f1e74c7b0954fad297215f2d3316137ff3',1794493768221290,1794493768221290,NULL,NULL,1,1794493768221290);
INSERT INTO "sighting" VALUES(41,'search','staging','1.0.2',NULL,'bffa81f1e74c7b0954fad297215f2d3316137ff3',1794497368221290,1794497368221290,NULL,NULL,1,1794497368221290);
INSERT INTO "sighting" VALUES(42,'search','prod','1.0.2',NULL,'bffa81f1e74c7b0954fad297215f2d3316137ff3',1794500968221290,1794500968221290,NULL,NULL,1,1794500968221290);
INSERT INTO "sighting" VALUES(43,'checkout','prod','prod-004e050',NULL,'004e05091c0615adab1dd14f2e293aeaea19ab35',1794914973122118,1794914977632536,NULL,NULL,1,1794914977632536);
INSERT INTO "sighting" VALUES(44,'checkout','development','develop-43c54d5',NULL,'43c54d5cbbb7f1f5da55628003a9fb90ae621479',1794914979871674,1794914982878924,NULL,1794915003206254,1,1794914982878924);
INSERT INTO "sighting" VALUES(45,'search','development','1.0.3',NULL,'ecb95fa7ffed499ae35d7f4862eb7133fb2cbca5',1794914979871699,1794914982890377,NULL,1794915098517069,1,1794914982890377);
INSERT INTO "sighting" VALUES(46,'checkout','qa','qa-420bfa0',NULL,'420bfa0242a970b5986748107387898f3ea4777a',1794914988182524,1794914991204392,NULL,1794915008616195,1,1794914991204392);
INSERT INTO "sighting" VALUES(47,'checkout','staging','staging-41b032e',NULL,'41b032ed54615554efaae28714871ca1889577e8',1794914997724795,1794915000742414,NULL,NULL,1,1794915000742414);
INSERT INTO "sighting" VALUES(48,'checkout','development','develop-68d5985',NULL,'68d598534769ea70e0b3d81aae0a4914499f99d4',1794915003206254,1794915006102648,NULL,NULL,1,1794915006102648);
INSERT INTO "sighting" VALUES(49,'checkout','qa','qa-24a3dc7',NULL,'24a3dc7f4ae5f3fcc3a0d450a6b23cb25f55305e',1794915008616195,NULL,'ReplicaSet "checkout-6b0001a4" has timed out progressing.',NULL,1,NULL);
INSERT INTO "sighting" VALUES(50,'storefront','development','develop-719cedf',NULL,'719cedf6c434dc04badd6f96d9f76147fbdc8a78',1794915087584664,1794915090689565,NULL,NULL,1,1794915090689565);
INSERT INTO "sighting" VALUES(51,'mailer','development','build-9',NULL,'719cedf6c434dc04badd6f96d9f76147fbdc8a78',1794915087628902,1794915090839423,NULL,NULL,1,1794915090839423);
INSERT INTO "sighting" VALUES(52,'mailer','qa','build-10',NULL,'f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d',1794915094108732,1794915097096780,NULL,NULL,1,1794915097096780);
INSERT INTO "sighting" VALUES(53,'storefront','qa','qa-f2f8353',NULL,'f2f835356e44d9a40b46d6bbfc0fc7ee7ed7bb6d',1794915094217069,NULL,NULL,NULL,0,NULL);
INSERT INTO "sighting" VALUES(54,'search','development','1.0.4',NULL,'ef9c3298bb2ba43ecd67ccf6888af913702f0783',1794915098517069,1794915101541796,NULL,NULL,1,1794915101541796);
CREATE TABLE tag (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    change_id  TEXT NOT NULL,
    PRIMARY KEY (repository, name)
);
INSERT INTO "tag" VALUES('acme/checkout','prod/2026.11.17-1','01a1e944-ec95-7ac9-8588-572d41f58189');
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-1','01a1e945-28ab-7806-9770-2d0a6e81975c');
INSERT INTO "tag" VALUES('acme/checkout','staging/2026.11.17-1','01a1e945-4dbe-75c8-b7f1-523c6b038a7d');
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-2','01a1e945-7863-7d1b-ae00-dcf6d48d15ef');
INSERT INTO "tag" VALUES('acme/shop','qa/2026.11.17-1','01a1e946-c532-7f08-bec4-250349bdc6b3');
CREATE INDEX inbox_waiting ON inbox (due_at) WHERE done_at IS NULL;
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_queue ON outbox (queue, id);
CREATE INDEX said_at ON said (said_at);
CREATE INDEX ledger_change ON ledger (change_id, id) WHERE change_id IS NOT NULL;
CREATE INDEX ledger_place ON ledger (artefact, environment, id);
CREATE UNIQUE INDEX sighting_now ON sighting (artefact, environment) WHERE ended_at IS NULL;
CREATE INDEX sighting_history ON sighting (artefact, environment, seen_at);
CREATE UNIQUE INDEX change_lock ON change (moves) WHERE active;
CREATE INDEX change_open ON change (open) WHERE open;
CREATE INDEX change_due ON change (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX change_short ON change (short);
CREATE INDEX change_place ON change (artefact, environment, asked_at);
CREATE INDEX said_channel ON said (channel);
CREATE INDEX plan_made ON plan (made_at);
CREATE INDEX lock_nudge ON lock (nudge_at);
COMMIT;
