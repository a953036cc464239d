BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'first','2026-11-17 11:17:01',1,X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E',1514582);
INSERT INTO "_sqlx_migrations" VALUES(2,'changes','2026-11-17 11:17:01',1,X'832FE61AC2FF89D965A444C23FE806EEBED0CFC40375D141D9343377D08DF5902F26A1634703E7AF4EDD50204A7AF106',1084913);
INSERT INTO "_sqlx_migrations" VALUES(3,'well since','2026-11-17 11:17:01',1,X'354BE5CCDF9220B6E6EC675F0DADBAF5E131976F827E99DD126B8624E2DCA1676626323A02CDA0E6AD3EBCE655236974',599742);
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
);
INSERT INTO "change" VALUES('01a1e939-da04-76d0-9b9c-dba39267393f','9267393f','checkout','qa','branch acme/checkout qa','deployed',0,0,6,NULL,NULL,'{"id":"01a1e939-da04-76d0-9b9c-dba39267393f","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:17:25.124631537Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","version":{"tag":"develop-23e9eb4","digest":null,"commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd"},"from":{"tag":"qa-ddccad6","digest":null,"commit":"ddccad6025c2bb03d5021668aa3b8fc503b7e732"},"commits":[{"sha":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/23e9eb4d90ee8459712cdcc3d8244124a71476dd"},{"sha":"5a490bc37b8ab2c4f2925b887409c1f03e4f61a2","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/5a490bc37b8ab2c4f2925b887409c1f03e4f61a2"}],"commits_in_all":2,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/ddccad6025c2bb03d5021668aa3b8fc503b7e732...23e9eb4d90ee8459712cdcc3d8244124a71476dd","head":"ddccad6025c2bb03d5021668aa3b8fc503b7e732","behind_by":4},"stage":{"name":"deployed","deploying":{"result":"7d5b279f7407684578bde9d11b1b305c15b50e2a","merged_at":"2026-11-17T11:17:25.258250558Z","deadline":"2026-11-17T11:18:55.258250558Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:17:25.33339052Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:17:30.523279668Z","ready":2,"proof":"tag"}}',1794914245124631);
INSERT INTO "change" VALUES('01a1e93a-004b-7624-96db-e665f03258ff','f03258ff','checkout','staging','branch acme/checkout staging','deployed',0,0,7,NULL,NULL,'{"id":"01a1e93a-004b-7624-96db-e665f03258ff","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:17:34.923960859Z","plan":{"artefact":"checkout","environment":"staging","below":"qa","repository":"acme/checkout","branch":"staging","pinned":"7d5b279f7407684578bde9d11b1b305c15b50e2a","version":{"tag":"qa-7d5b279","digest":null,"commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a"},"from":{"tag":"staging-ce1f324","digest":null,"commit":"ce1f324450659551f3bc2057d218011f720d8f9d"},"commits":[{"sha":"7d5b279f7407684578bde9d11b1b305c15b50e2a","subject":"Promote checkout develop-23e9eb4 to qa","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/7d5b279f7407684578bde9d11b1b305c15b50e2a"},{"sha":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/23e9eb4d90ee8459712cdcc3d8244124a71476dd"},{"sha":"ddccad6025c2bb03d5021668aa3b8fc503b7e732","subject":"Merge df60cfa into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/ddccad6025c2bb03d5021668aa3b8fc503b7e732"},{"sha":"5a490bc37b8ab2c4f2925b887409c1f03e4f61a2","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/5a490bc37b8ab2c4f2925b887409c1f03e4f61a2"},{"sha":"df60cfa3d679b8c5ee00adf3c227b4b917af6006","subject":"Accept vouchers of partners","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/df60cfa3d679b8c5ee00adf3c227b4b917af6006"}],"commits_in_all":5,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/ce1f324450659551f3bc2057d218011f720d8f9d...7d5b279f7407684578bde9d11b1b305c15b50e2a","head":"ce1f324450659551f3bc2057d218011f720d8f9d","behind_by":3},"stage":{"name":"deployed","deploying":{"result":"ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633","merged_at":"2026-11-17T11:17:34.964721114Z","deadline":"2026-11-17T11:19:04.964721114Z","tag":{"made":{"name":"staging/2026.11.17-1","at":"2026-11-17T11:17:34.972914456Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:17:40.058833816Z","ready":2,"proof":"tag"}}',1794914254923960);
INSERT INTO "change" VALUES('01a1e93a-296f-71ef-b2fb-3b45358979bf','358979bf','checkout','qa','branch acme/checkout qa','failed',0,1,7,NULL,NULL,'{"id":"01a1e93a-296f-71ef-b2fb-3b45358979bf","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:17:45.455419016Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","version":{"tag":"develop-ec28dfa","digest":null,"commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b"},"from":{"tag":"qa-7d5b279","digest":null,"commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a"},"commits":[{"sha":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","subject":"Divide by the number of guests","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/ec28dfa50637f6a328c828c3b070bf442ff4d04b"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/7d5b279f7407684578bde9d11b1b305c15b50e2a...ec28dfa50637f6a328c828c3b070bf442ff4d04b","head":"7d5b279f7407684578bde9d11b1b305c15b50e2a","behind_by":5},"stage":{"name":"failed","deploying":{"result":"df9795a661837ae5893cd14b16019af3d258cc0a","merged_at":"2026-11-17T11:17:45.520856422Z","deadline":"2026-11-17T11:19:15.520856422Z","tag":{"made":{"name":"qa/2026.11.17-2","at":"2026-11-17T11:17:45.596846568Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:17:55.623769813Z","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"}}',1794914265455419);
INSERT INTO "change" VALUES('01a1e93b-a8f5-7679-9554-5ac765eafe04','65eafe04','storefront','qa','branch acme/shop qa','deploying',1,1,6,1794914453735654,NULL,'{"id":"01a1e93b-a8f5-7679-9554-5ac765eafe04","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:19:23.6370177Z","plan":{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"ec8776fc6031879a2e771222cb29b7a41e14a437","version":{"tag":"develop-ec8776f","digest":null,"commit":"ec8776fc6031879a2e771222cb29b7a41e14a437"},"from":{"tag":"qa-624fb5b","digest":null,"commit":"624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8"},"commits":[{"sha":"ec8776fc6031879a2e771222cb29b7a41e14a437","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/ec8776fc6031879a2e771222cb29b7a41e14a437"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8...ec8776fc6031879a2e771222cb29b7a41e14a437","head":"624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8","behind_by":1},"stage":{"name":"deploying","result":"da2032aaf144dbb023b9dc49c6e6df3a91286b49","merged_at":"2026-11-17T11:19:23.735653006Z","deadline":"2026-11-17T11:20:53.735653006Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:19:23.785071334Z"}},"nudge":null,"rollout":{"ready":0,"wanted":2},"others":[{"artefact":"mailer","version":"build-10","state":{"runs":{"ready":4}}}],"trouble":null}}',1794914363637017);
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    PRIMARY KEY (repository, base, head)
);
INSERT INTO "comparison" VALUES('acme/checkout','ddccad6025c2bb03d5021668aa3b8fc503b7e732','5a490bc37b8ab2c4f2925b887409c1f03e4f61a2',1,4);
INSERT INTO "comparison" VALUES('acme/checkout','ce1f324450659551f3bc2057d218011f720d8f9d','ddccad6025c2bb03d5021668aa3b8fc503b7e732',2,3);
INSERT INTO "comparison" VALUES('acme/checkout','2b9efa5a57366742316f91a4be792d1a4530eae1','ce1f324450659551f3bc2057d218011f720d8f9d',3,2);
INSERT INTO "comparison" VALUES('acme/shop','624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8','d3dd0e7946de645994677d5a7c7a1f676c5f4377',0,1);
INSERT INTO "comparison" VALUES('acme/shop','5413c3101366c72e70b007e36608e6a978a50233','624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8',0,1);
INSERT INTO "comparison" VALUES('acme/shop','9c959d7dd69d60101dc122abff2686f0b3ae98c3','5413c3101366c72e70b007e36608e6a978a50233',0,1);
INSERT INTO "comparison" VALUES('acme/checkout','ddccad6025c2bb03d5021668aa3b8fc503b7e732','23e9eb4d90ee8459712cdcc3d8244124a71476dd',2,4);
INSERT INTO "comparison" VALUES('acme/search','5825840547aa0845516544c381f19300ebfead63','059871e143485b5601d0b83b0fd424ecc7604760',1,0);
INSERT INTO "comparison" VALUES('acme/checkout','7d5b279f7407684578bde9d11b1b305c15b50e2a','23e9eb4d90ee8459712cdcc3d8244124a71476dd',0,5);
INSERT INTO "comparison" VALUES('acme/checkout','ce1f324450659551f3bc2057d218011f720d8f9d','7d5b279f7407684578bde9d11b1b305c15b50e2a',5,3);
INSERT INTO "comparison" VALUES('acme/checkout','ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633','7d5b279f7407684578bde9d11b1b305c15b50e2a',0,4);
INSERT INTO "comparison" VALUES('acme/checkout','2b9efa5a57366742316f91a4be792d1a4530eae1','ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633',9,2);
INSERT INTO "comparison" VALUES('acme/checkout','7d5b279f7407684578bde9d11b1b305c15b50e2a','ec28dfa50637f6a328c828c3b070bf442ff4d04b',1,5);
INSERT INTO "comparison" VALUES('acme/checkout','df9795a661837ae5893cd14b16019af3d258cc0a','ec28dfa50637f6a328c828c3b070bf442ff4d04b',0,6);
INSERT INTO "comparison" VALUES('acme/checkout','ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633','df9795a661837ae5893cd14b16019af3d258cc0a',2,4);
INSERT INTO "comparison" VALUES('acme/shop','624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8','ec8776fc6031879a2e771222cb29b7a41e14a437',1,1);
INSERT INTO "comparison" VALUES('acme/shop','da2032aaf144dbb023b9dc49c6e6df3a91286b49','ec8776fc6031879a2e771222cb29b7a41e14a437',0,2);
INSERT INTO "comparison" VALUES('acme/shop','5413c3101366c72e70b007e36608e6a978a50233','da2032aaf144dbb023b9dc49c6e6df3a91286b49',2,1);
INSERT INTO "comparison" VALUES('acme/search','5825840547aa0845516544c381f19300ebfead63','37cca6dc530bc6b077999cf6d59f362e4513af86',2,0);
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-23e9eb4','23e9eb4d90ee8459712cdcc3d8244124a71476dd','tag',1794914238636520);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.3','059871e143485b5601d0b83b0fd424ecc7604760','label',1794914238774441);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-7d5b279','7d5b279f7407684578bde9d11b1b305c15b50e2a','tag',1794914247574487);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','staging-ae490b6','ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633','tag',1794914257060608);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-ec28dfa','ec28dfa50637f6a328c828c3b070bf442ff4d04b','tag',1794914262118255);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-df9795a','df9795a661837ae5893cd14b16019af3d258cc0a','tag',1794914267547340);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','develop-ec8776f','ec8776fc6031879a2e771222cb29b7a41e14a437','tag',1794914358431852);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-9','ec8776fc6031879a2e771222cb29b7a41e14a437','report',1794914361536933);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','qa-da2032a','da2032aaf144dbb023b9dc49c6e6df3a91286b49','tag',1794914366047274);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-10','da2032aaf144dbb023b9dc49c6e6df3a91286b49','report',1794914369020994);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.4','37cca6dc530bc6b077999cf6d59f362e4513af86','label',1794914370056493);
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
INSERT INTO "inbox" VALUES(1,'slack_command','1.1794914224005.00000000000000000000000100000000',NULL,1794914224017658,1794914224017658,0,NULL,1794914224094401);
INSERT INTO "inbox" VALUES(2,'flux','6fab79812b5dfa95ae0d6b359e584952',NULL,1794914238477205,1794914238477205,0,NULL,1794914238484525);
INSERT INTO "inbox" VALUES(3,'flux','b9bd2df8478df0ae73e2afebebc6dc66',NULL,1794914238483404,1794914238483404,0,NULL,1794914238563333);
INSERT INTO "inbox" VALUES(4,'flux','2f47ea852d0ffb5dd525063b0b54bb03',NULL,1794914241451954,1794914241451954,0,NULL,1794914241513021);
INSERT INTO "inbox" VALUES(5,'flux','aa9b408787a82f85d569421e968e6aa3',NULL,1794914241513021,1794914241513021,0,NULL,1794914241638989);
INSERT INTO "inbox" VALUES(6,'slack_command','12.1794914245082.00000000000000000000000c00000000',NULL,1794914245083564,1794914245083564,0,NULL,1794914245124910);
INSERT INTO "inbox" VALUES(7,'slack_command','15.1794914245095.00000000000000000000000f00000000',NULL,1794914245096223,1794914245096223,0,NULL,1794914245098884);
INSERT INTO "inbox" VALUES(8,'flux','65a64fde17bf9f792701f8fd2444ad30',NULL,1794914247380893,1794914247380893,0,NULL,1794914247616541);
INSERT INTO "inbox" VALUES(9,'flux','6ad0670a500809c2cd9e734adb2a9ab6',NULL,1794914250463331,1794914250463331,0,NULL,1794914250550889);
INSERT INTO "inbox" VALUES(10,'slack_command','45.1794914254904.00000000000000000000002d00000000',NULL,1794914254905872,1794914254905872,0,NULL,1794914254924291);
INSERT INTO "inbox" VALUES(11,'flux','34fd3e99ffb866cc10f65c85113520c8',NULL,1794914257044578,1794914257044578,0,NULL,1794914257080697);
INSERT INTO "inbox" VALUES(12,'flux','71e66ffa89749d5f23a2736e010663c3',NULL,1794914260051602,1794914260051602,0,NULL,1794914260058578);
INSERT INTO "inbox" VALUES(13,'flux','712eb6a200505748c2cf3306676c9e60',NULL,1794914262115397,1794914262115397,0,NULL,1794914262119628);
INSERT INTO "inbox" VALUES(14,'flux','b4114e4cd16f5a0505f7709183ffdbbc',NULL,1794914265127390,1794914265127390,0,NULL,1794914265145631);
INSERT INTO "inbox" VALUES(15,'slack_command','76.1794914265401.00000000000000000000004c00000000',NULL,1794914265402752,1794914265402752,0,NULL,1794914265455731);
INSERT INTO "inbox" VALUES(16,'flux','fd15b09283efd7830bc4ba56e0e5bdb6',NULL,1794914267527800,1794914267527800,0,NULL,1794914267530866);
INSERT INTO "inbox" VALUES(17,'flux','8c34036d6de02175b2bd884b5aceb6d8',NULL,1794914275473212,1794914275473212,0,NULL,1794914275620839);
INSERT INTO "inbox" VALUES(18,'slack_command','101.1794914275869.00000000000000000000006500000000',NULL,1794914275871161,1794914275871161,0,NULL,1794914276092963);
INSERT INTO "inbox" VALUES(19,'slack_command','105.1794914339566.00000000000000000000006900000000',NULL,1794914339568237,1794914339568237,0,NULL,1794914339574970);
INSERT INTO "inbox" VALUES(20,'slack_command','124.1794914339578.00000000000000000000007c00000000',NULL,1794914339580026,1794914339580026,0,NULL,1794914339616478);
INSERT INTO "inbox" VALUES(21,'slack_command','129.1794914343693.00000000000000000000008100000000',NULL,1794914343699521,1794914343699521,0,NULL,1794914343808578);
INSERT INTO "inbox" VALUES(22,'slack_command','132.1794914343769.00000000000000000000008400000000',NULL,1794914343770231,1794914343770231,0,NULL,1794914343820504);
INSERT INTO "inbox" VALUES(23,'slack_command','136.1794914343826.00000000000000000000008800000000',NULL,1794914343844581,1794914343844581,0,NULL,1794914343950978);
INSERT INTO "inbox" VALUES(24,'flux','9b871da63f82c8ca3060ced8a26d232a',NULL,1794914358372765,1794914358372765,0,NULL,1794914358420519);
INSERT INTO "inbox" VALUES(25,'flux','80d6173acfe69ea93cca79a1bbbbe124',NULL,1794914358420519,1794914358420519,0,NULL,1794914358448155);
INSERT INTO "inbox" VALUES(26,'flux','e76080c53a31206a50116c635243bcb5',NULL,1794914361345005,1794914361345005,0,NULL,1794914361412247);
INSERT INTO "inbox" VALUES(27,'flux','75ab53d83238c0fc25e9979050b1ff81',NULL,1794914361627159,1794914361627159,0,NULL,1794914361816520);
INSERT INTO "inbox" VALUES(28,'slack_command','151.1794914362090.00000000000000000000009700000000',NULL,1794914362091055,1794914362091055,0,NULL,1794914362268621);
INSERT INTO "inbox" VALUES(29,'slack_command','154.1794914362095.00000000000000000000009a00000000',NULL,1794914362096556,1794914362096556,0,NULL,1794914362428859);
INSERT INTO "inbox" VALUES(30,'slack_interaction','167.1794914363267.0000000000000000000000a700000000',NULL,1794914363325776,1794914363325776,0,NULL,1794914363637257);
INSERT INTO "inbox" VALUES(31,'flux','65d0f10d743c76f6bac27cdf9d6e2fc6',NULL,1794914366028489,1794914366028489,0,NULL,1794914366060460);
INSERT INTO "inbox" VALUES(32,'flux','18c08080add1ff287561a7dba5aff25a',NULL,1794914366060460,1794914366060460,0,NULL,1794914366084515);
INSERT INTO "inbox" VALUES(33,'slack_command','205.1794914367965.0000000000000000000000cd00000000',NULL,1794914368005290,1794914368005290,0,NULL,1794914368152962);
INSERT INTO "inbox" VALUES(34,'flux','692804106e7b897fc0fa58eead69caf8',NULL,1794914369012681,1794914369012681,0,NULL,1794914369016103);
INSERT INTO "inbox" VALUES(35,'flux','7897bbf4fee9931e88e4fecb997d2658',NULL,1794914370049149,1794914370049149,0,NULL,1794914370064493);
INSERT INTO "inbox" VALUES(36,'flux','10a61e300f21fead8237065fce349949',NULL,1794914373055710,1794914373055710,0,NULL,1794914373280670);
INSERT INTO "inbox" VALUES(37,'slack_command','208.1794914374177.0000000000000000000000d000000000',NULL,1794914374200886,1794914374200886,0,NULL,1794914374209856);
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
INSERT INTO "ledger" VALUES(1,1794914238483787,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:17:18.421783657Z","commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","environment":"development","key":"6fab79812b5dfa95ae0d6b359e584952","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:23e9eb4d90ee8459712cdcc3d8244124a71476dd"}');
INSERT INTO "ledger" VALUES(2,1794914238544975,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:17:18.422422507Z","commit":"085df14fb994ecf8dc3e67e562cfa1cb9425a128","environment":"development","key":"b9bd2df8478df0ae73e2afebebc6dc66","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:085df14fb994ecf8dc3e67e562cfa1cb9425a128"}');
INSERT INTO "ledger" VALUES(3,1794914241486910,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","digest":null,"tag":"develop-23e9eb4"}}');
INSERT INTO "ledger" VALUES(4,1794914241497916,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:17:21.450086618Z","commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","environment":"development","key":"2f47ea852d0ffb5dd525063b0b54bb03","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:23e9eb4d90ee8459712cdcc3d8244124a71476dd"}');
INSERT INTO "ledger" VALUES(5,1794914241518048,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"059871e143485b5601d0b83b0fd424ecc7604760","digest":null,"tag":"1.0.3"}}');
INSERT INTO "ledger" VALUES(6,1794914241629407,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:17:21.502091072Z","commit":"085df14fb994ecf8dc3e67e562cfa1cb9425a128","environment":"development","key":"aa9b408787a82f85d569421e968e6aa3","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:085df14fb994ecf8dc3e67e562cfa1cb9425a128"}');
INSERT INTO "ledger" VALUES(7,1794914245124660,'01a1e939-da04-76d0-9b9c-dba39267393f','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","digest":null,"tag":"develop-23e9eb4"}}');
INSERT INTO "ledger" VALUES(8,1794914245258487,'01a1e939-da04-76d0-9b9c-dba39267393f','deploying','checkout','qa','"controller"','{"pinned":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","stage":{"deadline":"2026-11-17T11:18:55.258250558Z","merged_at":"2026-11-17T11:17:25.258250558Z","name":"deploying","nudge":null,"others":[],"result":"7d5b279f7407684578bde9d11b1b305c15b50e2a","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","digest":null,"tag":"develop-23e9eb4"}}');
INSERT INTO "ledger" VALUES(9,1794914247592615,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:17:27.293769201Z","commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a","environment":"qa","key":"65a64fde17bf9f792701f8fd2444ad30","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:7d5b279f7407684578bde9d11b1b305c15b50e2a"}');
INSERT INTO "ledger" VALUES(10,1794914250523563,'01a1e939-da04-76d0-9b9c-dba39267393f','deployed','checkout','qa','"controller"','{"pinned":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","stage":{"at":"2026-11-17T11:17:30.523279668Z","deploying":{"deadline":"2026-11-17T11:18:55.258250558Z","merged_at":"2026-11-17T11:17:25.258250558Z","nudge":null,"others":[],"result":"7d5b279f7407684578bde9d11b1b305c15b50e2a","rollout":null,"tag":{"made":{"at":"2026-11-17T11:17:25.33339052Z","name":"qa/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"23e9eb4d90ee8459712cdcc3d8244124a71476dd","digest":null,"tag":"develop-23e9eb4"}}');
INSERT INTO "ledger" VALUES(11,1794914250550782,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:17:30.395317372Z","commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a","environment":"qa","key":"6ad0670a500809c2cd9e734adb2a9ab6","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:7d5b279f7407684578bde9d11b1b305c15b50e2a"}');
INSERT INTO "ledger" VALUES(12,1794914254923979,'01a1e93a-004b-7624-96db-e665f03258ff','begun','checkout','staging','{"person":"U0ALICE"}','{"pinned":"7d5b279f7407684578bde9d11b1b305c15b50e2a","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a","digest":null,"tag":"qa-7d5b279"}}');
INSERT INTO "ledger" VALUES(13,1794914254965011,'01a1e93a-004b-7624-96db-e665f03258ff','deploying','checkout','staging','"controller"','{"pinned":"7d5b279f7407684578bde9d11b1b305c15b50e2a","stage":{"deadline":"2026-11-17T11:19:04.964721114Z","merged_at":"2026-11-17T11:17:34.964721114Z","name":"deploying","nudge":null,"others":[],"result":"ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a","digest":null,"tag":"qa-7d5b279"}}');
INSERT INTO "ledger" VALUES(14,1794914257064857,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:17:37.013735603Z","commit":"ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633","environment":"staging","key":"34fd3e99ffb866cc10f65c85113520c8","message":"Deployment/staging/checkout configured","outcome":"progressing","revision":"staging@sha1:ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633"}');
INSERT INTO "ledger" VALUES(15,1794914260058070,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:17:40.049913372Z","commit":"ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633","environment":"staging","key":"71e66ffa89749d5f23a2736e010663c3","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"staging@sha1:ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633"}');
INSERT INTO "ledger" VALUES(16,1794914260059146,'01a1e93a-004b-7624-96db-e665f03258ff','deployed','checkout','staging','"controller"','{"pinned":"7d5b279f7407684578bde9d11b1b305c15b50e2a","stage":{"at":"2026-11-17T11:17:40.058833816Z","deploying":{"deadline":"2026-11-17T11:19:04.964721114Z","merged_at":"2026-11-17T11:17:34.964721114Z","nudge":null,"others":[],"result":"ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633","rollout":null,"tag":{"made":{"at":"2026-11-17T11:17:34.972914456Z","name":"staging/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"7d5b279f7407684578bde9d11b1b305c15b50e2a","digest":null,"tag":"qa-7d5b279"}}');
INSERT INTO "ledger" VALUES(17,1794914262118990,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:17:42.10359104Z","commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","environment":"development","key":"712eb6a200505748c2cf3306676c9e60","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:ec28dfa50637f6a328c828c3b070bf442ff4d04b"}');
INSERT INTO "ledger" VALUES(18,1794914265145564,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:17:45.125478483Z","commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","environment":"development","key":"b4114e4cd16f5a0505f7709183ffdbbc","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:ec28dfa50637f6a328c828c3b070bf442ff4d04b"}');
INSERT INTO "ledger" VALUES(19,1794914265146633,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","digest":null,"tag":"develop-ec28dfa"}}');
INSERT INTO "ledger" VALUES(20,1794914265455436,'01a1e93a-296f-71ef-b2fb-3b45358979bf','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","digest":null,"tag":"develop-ec28dfa"}}');
INSERT INTO "ledger" VALUES(21,1794914265521091,'01a1e93a-296f-71ef-b2fb-3b45358979bf','deploying','checkout','qa','"controller"','{"pinned":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","stage":{"deadline":"2026-11-17T11:19:15.520856422Z","merged_at":"2026-11-17T11:17:45.520856422Z","name":"deploying","nudge":null,"others":[],"result":"df9795a661837ae5893cd14b16019af3d258cc0a","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","digest":null,"tag":"develop-ec28dfa"}}');
INSERT INTO "ledger" VALUES(22,1794914267530580,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:17:47.524373487Z","commit":"df9795a661837ae5893cd14b16019af3d258cc0a","environment":"qa","key":"fd15b09283efd7830bc4ba56e0e5bdb6","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:df9795a661837ae5893cd14b16019af3d258cc0a"}');
INSERT INTO "ledger" VALUES(23,1794914275613946,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:17:55.330034302Z","commit":"df9795a661837ae5893cd14b16019af3d258cc0a","environment":"qa","key":"8c34036d6de02175b2bd884b5aceb6d8","message":"health check failed after 7.8s: failed resources: [Deployment/qa/checkout status: ''Failed'']","outcome":{"failed":{"message":"health check failed after 7.8s: failed resources: [Deployment/qa/checkout status: ''Failed'']"}},"revision":"qa@sha1:df9795a661837ae5893cd14b16019af3d258cc0a"}');
INSERT INTO "ledger" VALUES(24,1794914275624024,'01a1e93a-296f-71ef-b2fb-3b45358979bf','failed','checkout','qa','"controller"','{"pinned":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","stage":{"at":"2026-11-17T11:17:55.623769813Z","deploying":{"deadline":"2026-11-17T11:19:15.520856422Z","merged_at":"2026-11-17T11:17:45.520856422Z","nudge":null,"others":[],"result":"df9795a661837ae5893cd14b16019af3d258cc0a","rollout":null,"tag":{"made":{"at":"2026-11-17T11:17:45.596846568Z","name":"qa/2026.11.17-2"}},"trouble":null},"name":"failed","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"},"version":{"commit":"ec28dfa50637f6a328c828c3b070bf442ff4d04b","digest":null,"tag":"develop-ec28dfa"}}');
INSERT INTO "ledger" VALUES(25,1794914358389851,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:19:18.233833649Z","commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","environment":"development","key":"9b871da63f82c8ca3060ced8a26d232a","message":"StatefulSet/development/mailer configured\nDeployment/development/mailer-web configured","outcome":"progressing","revision":"develop@sha1:ec8776fc6031879a2e771222cb29b7a41e14a437"}');
INSERT INTO "ledger" VALUES(26,1794914358433528,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:19:18.234501232Z","commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","environment":"development","key":"80d6173acfe69ea93cca79a1bbbbe124","message":"Deployment/development/storefront configured","outcome":"progressing","revision":"develop@sha1:ec8776fc6031879a2e771222cb29b7a41e14a437"}');
INSERT INTO "ledger" VALUES(27,1794914361347713,NULL,'arrived','mailer','development','"controller"','{"failed":null,"version":{"commit":null,"digest":null,"tag":"build-9"}}');
INSERT INTO "ledger" VALUES(28,1794914361374310,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:19:21.342000116Z","commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","environment":"development","key":"e76080c53a31206a50116c635243bcb5","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:ec8776fc6031879a2e771222cb29b7a41e14a437"}');
INSERT INTO "ledger" VALUES(29,1794914361635213,NULL,'arrived','storefront','development','"controller"','{"failed":null,"version":{"commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","digest":null,"tag":"develop-ec8776f"}}');
INSERT INTO "ledger" VALUES(30,1794914361803951,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:19:21.625215065Z","commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","environment":"development","key":"75ab53d83238c0fc25e9979050b1ff81","message":"Reconciliation finished in 3.4s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:ec8776fc6031879a2e771222cb29b7a41e14a437"}');
INSERT INTO "ledger" VALUES(31,1794914363637034,'01a1e93b-a8f5-7679-9554-5ac765eafe04','begun','storefront','qa','{"person":"U0ALICE"}','{"pinned":"ec8776fc6031879a2e771222cb29b7a41e14a437","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","digest":null,"tag":"develop-ec8776f"}}');
INSERT INTO "ledger" VALUES(32,1794914363735857,'01a1e93b-a8f5-7679-9554-5ac765eafe04','deploying','storefront','qa','"controller"','{"pinned":"ec8776fc6031879a2e771222cb29b7a41e14a437","stage":{"deadline":"2026-11-17T11:20:53.735653006Z","merged_at":"2026-11-17T11:19:23.735653006Z","name":"deploying","nudge":null,"others":[],"result":"da2032aaf144dbb023b9dc49c6e6df3a91286b49","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"ec8776fc6031879a2e771222cb29b7a41e14a437","digest":null,"tag":"develop-ec8776f"}}');
INSERT INTO "ledger" VALUES(33,1794914366058579,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:19:25.909049297Z","commit":"da2032aaf144dbb023b9dc49c6e6df3a91286b49","environment":"qa","key":"65d0f10d743c76f6bac27cdf9d6e2fc6","message":"StatefulSet/qa/mailer configured\nDeployment/qa/mailer-web configured","outcome":"progressing","revision":"qa@sha1:da2032aaf144dbb023b9dc49c6e6df3a91286b49"}');
INSERT INTO "ledger" VALUES(34,1794914366073992,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"qa"},"at":"2026-11-17T11:19:25.973497933Z","commit":"da2032aaf144dbb023b9dc49c6e6df3a91286b49","environment":"qa","key":"18c08080add1ff287561a7dba5aff25a","message":"Deployment/qa/storefront configured","outcome":"progressing","revision":"qa@sha1:da2032aaf144dbb023b9dc49c6e6df3a91286b49"}');
INSERT INTO "ledger" VALUES(35,1794914369015793,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:19:29.010730371Z","commit":"da2032aaf144dbb023b9dc49c6e6df3a91286b49","environment":"qa","key":"692804106e7b897fc0fa58eead69caf8","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:da2032aaf144dbb023b9dc49c6e6df3a91286b49"}');
INSERT INTO "ledger" VALUES(36,1794914370057925,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:19:30.040706144Z","commit":"ec398e077dffccbab8670083d527f30c1f5e0d63","environment":"development","key":"7897bbf4fee9931e88e4fecb997d2658","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:ec398e077dffccbab8670083d527f30c1f5e0d63"}');
INSERT INTO "ledger" VALUES(37,1794914373093411,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"37cca6dc530bc6b077999cf6d59f362e4513af86","digest":null,"tag":"1.0.4"}}');
INSERT INTO "ledger" VALUES(38,1794914373100522,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:19:33.053688385Z","commit":"ec398e077dffccbab8670083d527f30c1f5e0d63","environment":"development","key":"10a61e300f21fead8237065fce349949","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:ec398e077dffccbab8670083d527f30c1f5e0d63"}');
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
INSERT INTO "outbox" VALUES(1,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005Q","until":"2026-11-17T11:49:28.00529Z"},"replace":false}},"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794914368152962,1794914375666265,3,'the response URL was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(2,'#deploys','card:01a1e93b-a8f5-7679-9554-5ac765eafe04','{"to":{"post":{"channel":"#deploys","key":"card:01a1e93b-a8f5-7679-9554-5ac765eafe04","thread":null,"asked":{"person":"U0ALICE","channel":"C0DEPLOYS"}}},"text":"*storefront* `develop-ec8776f`: deploying to *qa*, 0 of 2 ready","blocks":[{"text":{"text":":hourglass_flowing_sand: *storefront* `develop-ec8776f`: deploying to *qa*, 0 of 2 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":":white_check_mark: merged into `qa` as <http://127.0.0.1:8484/sim/github/acme/shop/commit/da2032aaf144dbb023b9dc49c6e6df3a91286b49|da2032a> · 0 s\n:white_check_mark: tagged `qa/2026.11.17-1` · 0 s\n:hourglass_flowing_sand: the cluster rolls it out\n:small_blue_diamond: *mailer* `build-10` runs, 4 of 4 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":"`qa-624fb5b` → `develop-ec8776f`, commit `ec8776f` as it runs in development · <http://127.0.0.1:8484/sim/github/acme/shop/compare/624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8...ec8776fc6031879a2e771222cb29b7a41e14a437|compare>\n1 commit:\n• <http://127.0.0.1:8484/sim/github/acme/shop/commit/ec8776fc6031879a2e771222cb29b7a41e14a437|ec8776f> Show the basket · Alice Adler","type":"mrkdwn"},"type":"section"},{"text":{"text":":twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer* (only built anew)","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"asked by <@U0ALICE> · <!date^1794914363^{date_short_pretty} {time}|2026-11-17 11:19 UTC> · change `65eafe04`","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914369022807,1794914376220522,3,'chat.update was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(3,'#deploys','arrival:development:search:1794914370042830','{"to":{"post":{"channel":"#deploys","key":"arrival:development:search:1794914370042830","thread":null,"asked":null}},"text":"search 1.0.4 runs in development","blocks":[{"text":{"text":":large_green_circle: *search* `1.0.4` runs in *development*\n<http://127.0.0.1:8484/sim/github/acme/search/commit/37cca6dc530bc6b077999cf6d59f362e4513af86|37cca6d> Sort by price · Alice Adler · rolled out in 3 s","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: `/promote search qa`","type":"mrkdwn"}],"type":"context"},{"elements":[{"action_id":"arrival_promote","text":{"text":"Promote","type":"plain_text"},"type":"button","value":"arrival:development:search:1794914370042830"}],"type":"actions"}],"plain":null}',0,1794914373093578,1794914373093578,0,NULL);
INSERT INTO "outbox" VALUES(4,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005T","until":"2026-11-17T11:49:34.200886Z"},"replace":false}},"text":"*checkout* `qa-df9795a` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","blocks":[{"text":{"text":"*checkout* `qa-df9795a` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914374209856,1794914374209856,0,NULL);
CREATE TABLE plan (
    id      TEXT   PRIMARY KEY,
    person  TEXT   NOT NULL,
    body    TEXT   NOT NULL,
    made_at BIGINT NOT NULL
);
INSERT INTO "plan" VALUES('01a1e93b-a2f5-737c-a511-45911c3223c8','U0CAROL','{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"ec8776fc6031879a2e771222cb29b7a41e14a437","version":{"tag":"develop-ec8776f","digest":null,"commit":"ec8776fc6031879a2e771222cb29b7a41e14a437"},"from":{"tag":"qa-624fb5b","digest":null,"commit":"624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8"},"commits":[{"sha":"ec8776fc6031879a2e771222cb29b7a41e14a437","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/ec8776fc6031879a2e771222cb29b7a41e14a437"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8...ec8776fc6031879a2e771222cb29b7a41e14a437","head":"624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8","behind_by":1}',1794914362101966);
CREATE TABLE said (
    key     TEXT   PRIMARY KEY,
    queue   TEXT   NOT NULL,
    channel TEXT   NOT NULL,
    ts      TEXT   NOT NULL,
    note    TEXT,
    said_at BIGINT NOT NULL
);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914238424558','#deploys','C0DEPLOYS','1794914241.516600',NULL,1794914241627596);
INSERT INTO "said" VALUES('arrival:development:search:1794914238424582','#deploys','C0DEPLOYS','1794914241.641600',NULL,1794914241656769);
INSERT INTO "said" VALUES('card:01a1e939-da04-76d0-9b9c-dba39267393f','#deploys','C0DEPLOYS','1794914245.186200',NULL,1794914250536066);
INSERT INTO "said" VALUES('deployed:1794914250523619:01a1e939-da04-76d0-9b9c-dba39267393f','#deploys','C0DEPLOYS','1794914250.538500',NULL,1794914250538901);
INSERT INTO "said" VALUES('card:01a1e93a-004b-7624-96db-e665f03258ff','#deploys','C0DEPLOYS','1794914254.953300',NULL,1794914260065184);
INSERT INTO "said" VALUES('deployed:1794914260059187:01a1e93a-004b-7624-96db-e665f03258ff','#deploys','C0DEPLOYS','1794914260.067500',NULL,1794914260067800);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914262103422','#deploys','C0DEPLOYS','1794914265.213100',NULL,1794914265213725);
INSERT INTO "said" VALUES('card:01a1e93a-296f-71ef-b2fb-3b45358979bf','#deploys','C0DEPLOYS','1794914265.472100',NULL,1794914275644162);
INSERT INTO "said" VALUES('failed:1794914275624076:01a1e93a-296f-71ef-b2fb-3b45358979bf','#deploys','C0DEPLOYS','1794914275.675100',NULL,1794914275686635);
INSERT INTO "said" VALUES('arrival:development:mailer:1794914358257119','#deploys','C0DEPLOYS','1794914361.417800',NULL,1794914361561749);
INSERT INTO "said" VALUES('arrival:development:storefront:1794914358373034','#deploys','C0DEPLOYS','1794914361.819000',NULL,1794914361832529);
INSERT INTO "said" VALUES('card:01a1e93b-a8f5-7679-9554-5ac765eafe04','#deploys','C0DEPLOYS','1794914363.648700',NULL,1794914366084515);
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
INSERT INTO "sighting" VALUES(1,'checkout','development','develop-3960aa9',NULL,'3960aa958d154dfbdd482fc393038e4b2ea97a59',1794399420374146,1794399420374146,NULL,1794485820374146,1,1794399420374146);
INSERT INTO "sighting" VALUES(2,'checkout','development','develop-c98985e',NULL,'c98985e8f087ecb442fa7391eea210122bee31b1',1794485820374146,1794485820374146,NULL,1794572220374146,1,1794485820374146);
INSERT INTO "sighting" VALUES(3,'checkout','qa','qa-3960aa9',NULL,'3960aa958d154dfbdd482fc393038e4b2ea97a59',1794493020374146,1794493020374146,NULL,1794579420374146,1,1794493020374146);
INSERT INTO "sighting" VALUES(4,'checkout','development','develop-a0c269c',NULL,'a0c269c2b14a27258a9c653bf9614ac5138e0610',1794572220374146,1794572220374146,NULL,1794658620374146,1,1794572220374146);
INSERT INTO "sighting" VALUES(5,'checkout','qa','qa-2981e27',NULL,'2981e278b693c69257d708b6b91aafd628517c73',1794579420374146,1794579420374146,NULL,1794665820374146,1,1794579420374146);
INSERT INTO "sighting" VALUES(6,'checkout','staging','staging-3960aa9',NULL,'3960aa958d154dfbdd482fc393038e4b2ea97a59',1794583020374146,1794583020374146,NULL,1794669420374146,1,1794583020374146);
INSERT INTO "sighting" VALUES(7,'checkout','development','develop-65e2de2',NULL,'65e2de267d828f28fac83f6778d479d0da60b1e3',1794658620374146,1794658620374146,NULL,1794745020374146,1,1794658620374146);
INSERT INTO "sighting" VALUES(8,'checkout','qa','qa-8d63805',NULL,'8d638050a5825090de483748302897b4df823398',1794665820374146,1794665820374146,NULL,1794752220374146,1,1794665820374146);
INSERT INTO "sighting" VALUES(9,'checkout','staging','staging-6125f35',NULL,'6125f353607bf77a57189f4aa9d68d9f156e1079',1794669420374146,1794669420374146,NULL,1794755820374146,1,1794669420374146);
INSERT INTO "sighting" VALUES(10,'checkout','prod','prod-3960aa9',NULL,'3960aa958d154dfbdd482fc393038e4b2ea97a59',1794673020374146,1794673020374146,NULL,1794759420374146,1,1794673020374146);
INSERT INTO "sighting" VALUES(11,'checkout','development','develop-df60cfa',NULL,'df60cfa3d679b8c5ee00adf3c227b4b917af6006',1794745020374146,1794745020374146,NULL,1794831420374146,1,1794745020374146);
INSERT INTO "sighting" VALUES(12,'checkout','qa','qa-7afc1f0',NULL,'7afc1f0bd573a9dc7c72cb0ec8bc7b27c5b54b18',1794752220374146,1794752220374146,NULL,1794838620374146,1,1794752220374146);
INSERT INTO "sighting" VALUES(13,'checkout','staging','staging-594e565',NULL,'594e5658bc37f7bb7322cb7f2b2020fd12fecc80',1794755820374146,1794755820374146,NULL,1794842220374146,1,1794755820374146);
INSERT INTO "sighting" VALUES(14,'checkout','prod','prod-00ffb89',NULL,'00ffb89b72f9181bfb1f86e53d94be5ef3199dc5',1794759420374146,1794759420374146,NULL,1794845820374146,1,1794759420374146);
INSERT INTO "sighting" VALUES(15,'checkout','development','develop-5a490bc',NULL,'5a490bc37b8ab2c4f2925b887409c1f03e4f61a2',1794831420374146,1794831420374146,NULL,1794914238424558,1,1794831420374146);
INSERT INTO "sighting" VALUES(16,'checkout','qa','qa-ddccad6',NULL,'ddccad6025c2bb03d5021668aa3b8fc503b7e732',1794838620374146,1794838620374146,NULL,1794914247298814,1,1794838620374146);
INSERT INTO "sighting" VALUES(17,'checkout','staging','staging-ce1f324',NULL,'ce1f324450659551f3bc2057d218011f720d8f9d',1794842220374146,1794842220374146,NULL,1794914257028654,1,1794842220374146);
INSERT INTO "sighting" VALUES(18,'checkout','prod','prod-2b9efa5',NULL,'2b9efa5a57366742316f91a4be792d1a4530eae1',1794845820374146,1794845820374146,NULL,NULL,1,1794845820374146);
INSERT INTO "sighting" VALUES(19,'mailer','development','build-1',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794399420374146,1794399420374146,NULL,1794485820374146,1,1794399420374146);
INSERT INTO "sighting" VALUES(20,'storefront','development','develop-18da647',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794399420374146,1794399420374146,NULL,1794485820374146,1,1794399420374146);
INSERT INTO "sighting" VALUES(21,'mailer','qa','build-2',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794406620374146,1794406620374146,NULL,1794493020374146,1,1794406620374146);
INSERT INTO "sighting" VALUES(22,'storefront','qa','qa-18da647',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794406620374146,1794406620374146,NULL,1794493020374146,1,1794406620374146);
INSERT INTO "sighting" VALUES(23,'mailer','staging','build-3',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794410220374146,1794410220374146,NULL,1794496620374146,1,1794410220374146);
INSERT INTO "sighting" VALUES(24,'storefront','staging','staging-18da647',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794410220374146,1794410220374146,NULL,1794496620374146,1,1794410220374146);
INSERT INTO "sighting" VALUES(25,'mailer','prod','build-4',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794413820374146,1794413820374146,NULL,1794500220374146,1,1794413820374146);
INSERT INTO "sighting" VALUES(26,'storefront','prod','prod-18da647',NULL,'18da647a867d78f1cb3c7e35f742f11c2cc11a9e',1794413820374146,1794413820374146,NULL,1794500220374146,1,1794413820374146);
INSERT INTO "sighting" VALUES(27,'mailer','development','build-5',NULL,'d3dd0e7946de645994677d5a7c7a1f676c5f4377',1794485820374146,1794485820374146,NULL,1794914358257119,1,1794485820374146);
INSERT INTO "sighting" VALUES(28,'storefront','development','develop-d3dd0e7',NULL,'d3dd0e7946de645994677d5a7c7a1f676c5f4377',1794485820374146,1794485820374146,NULL,1794914358373034,1,1794485820374146);
INSERT INTO "sighting" VALUES(29,'mailer','qa','build-6',NULL,'624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8',1794493020374146,1794493020374146,NULL,1794914366028809,1,1794493020374146);
INSERT INTO "sighting" VALUES(30,'storefront','qa','qa-624fb5b',NULL,'624fb5bc0f9fbfaa487e4d12acd777c97c3f44c8',1794493020374146,1794493020374146,NULL,1794914365976108,1,1794493020374146);
INSERT INTO "sighting" VALUES(31,'mailer','staging','build-7',NULL,'5413c3101366c72e70b007e36608e6a978a50233',1794496620374146,1794496620374146,NULL,NULL,1,1794496620374146);
INSERT INTO "sighting" VALUES(32,'storefront','staging','staging-5413c31',NULL,'5413c3101366c72e70b007e36608e6a978a50233',1794496620374146,1794496620374146,NULL,NULL,1,1794496620374146);
INSERT INTO "sighting" VALUES(33,'mailer','prod','build-8',NULL,'9c959d7dd69d60101dc122abff2686f0b3ae98c3',1794500220374146,1794500220374146,NULL,NULL,1,1794500220374146);
INSERT INTO "sighting" VALUES(34,'storefront','prod','prod-9c959d7',NULL,'9c959d7dd69d60101dc122abff2686f0b3ae98c3',1794500220374146,1794500220374146,NULL,NULL,1,1794500220374146);
INSERT INTO "sighting" VALUES(35,'search','development','1.0.1',NULL,'f958b9d67f76020417393f998ecb314018617234',1794403020374146,1794403020374146,NULL,1794489420374146,1,1794403020374146);
INSERT INTO "sighting" VALUES(36,'search','qa','1.0.1',NULL,'f958b9d67f76020417393f998ecb314018617234',1794406620374146,1794406620374146,NULL,1794493020374146,1,1794406620374146);
INSERT INTO "sighting" VALUES(37,'search','staging','1.0.1',NULL,'f958b9d67f76020417393f998ecb314018617234',1794410220374146,1794410220374146,NULL,1794496620374146,1,1794410220374146);
INSERT INTO "sighting" VALUES(38,'search','prod','1.0.1',NULL,'f958b9d67f76020417393f998ecb314018617234',1794413820374146,1794413820374146,NULL,1794500220374146,1,1794413820374146);
INSERT INTO "sighting" VALUES(39,'search','development','1.0.2',NULL,'5825840547aa0845516544c381f19300ebfead63',1794489420374146,1794489420374146,NULL,1794914238424582,1,1794489420374146);
INSERT INTO "sighting" VALUES(40,'search','qa','1.0.2',NULL,'5825840547aa0845516544c381f19300ebfead63',1794493020374146,1794493020374146,NULL,NULL,1,1794493020374146);
INSERT INTO "sighting" VALUES(41,'search','staging','1.0.2',NULL,'5825840547aa0845516544c381f19300ebfead63',1794496620374146,1794496620374146,NULL,NULL,1,1794496620374146);
INSERT INTO "sighting" VALUES(42,'search','prod','1.0.2',NULL,'5825840547aa0845516544c381f19300ebfead63',1794500220374146,1794500220374146,NULL,NULL,1,1794500220374146);
INSERT INTO "sighting" VALUES(43,'checkout','development','develop-23e9eb4',NULL,'23e9eb4d90ee8459712cdcc3d8244124a71476dd',1794914238424558,1794914241452080,NULL,1794914262103422,1,1794914241452080);
INSERT INTO "sighting" VALUES(44,'search','development','1.0.3',NULL,'059871e143485b5601d0b83b0fd424ecc7604760',1794914238424582,1794914241513291,NULL,1794914370042830,1,1794914241513291);
INSERT INTO "sighting" VALUES(45,'checkout','qa','qa-7d5b279',NULL,'7d5b279f7407684578bde9d11b1b305c15b50e2a',1794914247298814,1794914250433190,NULL,1794914267524168,1,1794914250433190);
INSERT INTO "sighting" VALUES(46,'checkout','staging','staging-ae490b6',NULL,'ae490b6b7e85b91c8a0b1bac421a78fc8d6c3633',1794914257028654,1794914260049636,NULL,NULL,1,1794914260049636);
INSERT INTO "sighting" VALUES(47,'checkout','development','develop-ec28dfa',NULL,'ec28dfa50637f6a328c828c3b070bf442ff4d04b',1794914262103422,1794914265127943,NULL,NULL,1,1794914265127943);
INSERT INTO "sighting" VALUES(48,'checkout','qa','qa-df9795a',NULL,'df9795a661837ae5893cd14b16019af3d258cc0a',1794914267524168,NULL,'ReplicaSet "checkout-6b00019b" has timed out progressing.',NULL,1,NULL);
INSERT INTO "sighting" VALUES(49,'mailer','development','build-9',NULL,'ec8776fc6031879a2e771222cb29b7a41e14a437',1794914358257119,1794914361347649,NULL,NULL,1,1794914361347649);
INSERT INTO "sighting" VALUES(50,'storefront','development','develop-ec8776f',NULL,'ec8776fc6031879a2e771222cb29b7a41e14a437',1794914358373034,1794914361626551,NULL,NULL,1,1794914361626551);
INSERT INTO "sighting" VALUES(51,'storefront','qa','qa-da2032a',NULL,'da2032aaf144dbb023b9dc49c6e6df3a91286b49',1794914365976108,NULL,NULL,NULL,0,NULL);
INSERT INTO "sighting" VALUES(52,'mailer','qa','build-10',NULL,'da2032aaf144dbb023b9dc49c6e6df3a91286b49',1794914366028809,1794914369012778,NULL,NULL,1,1794914369012778);
INSERT INTO "sighting" VALUES(53,'search','development','1.0.4',NULL,'37cca6dc530bc6b077999cf6d59f362e4513af86',1794914370042830,1794914373054986,NULL,NULL,1,1794914373054986);
CREATE TABLE tag (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    change_id  TEXT NOT NULL,
    PRIMARY KEY (repository, name)
);
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-1','01a1e939-da04-76d0-9b9c-dba39267393f');
INSERT INTO "tag" VALUES('acme/checkout','staging/2026.11.17-1','01a1e93a-004b-7624-96db-e665f03258ff');
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-2','01a1e93a-296f-71ef-b2fb-3b45358979bf');
INSERT INTO "tag" VALUES('acme/shop','qa/2026.11.17-1','01a1e93b-a8f5-7679-9554-5ac765eafe04');
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
COMMIT;
