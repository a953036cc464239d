BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'first','2026-11-17 11:23:32',1,X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E',11612366);
INSERT INTO "_sqlx_migrations" VALUES(2,'changes','2026-11-17 11:23:32',1,X'832FE61AC2FF89D965A444C23FE806EEBED0CFC40375D141D9343377D08DF5902F26A1634703E7AF4EDD50204A7AF106',16086328);
INSERT INTO "_sqlx_migrations" VALUES(3,'well since','2026-11-17 11:23:32',1,X'354BE5CCDF9220B6E6EC675F0DADBAF5E131976F827E99DD126B8624E2DCA1676626323A02CDA0E6AD3EBCE655236974',11478737);
INSERT INTO "_sqlx_migrations" VALUES(4,'lock','2026-11-17 11:23:32',1,X'DF1885A0663E6E0D9A75078D60F4EE63F26DBCF8C0B3053A5C9A1C679F18D68C9447DF77F63BB4DA46EC856B7FD01420',11978270);
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
INSERT INTO "change" VALUES('01a1e93f-d730-740e-8ef5-8dbc1da288c0','1da288c0','checkout','qa','branch acme/checkout qa','deployed',0,0,6,NULL,NULL,'{"id":"01a1e93f-d730-740e-8ef5-8dbc1da288c0","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:23:57.616849796Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","version":{"tag":"develop-6a0aa8f","digest":null,"commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb"},"from":{"tag":"qa-a8aca93","digest":null,"commit":"a8aca93ea0512f0939ab720b7b02de5383d56f01"},"commits":[{"sha":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/6a0aa8f9b88e17dd75be48c228b07537cae0abeb"},{"sha":"0098779648c48378ae600c294e9a27a3a054bc5b","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/0098779648c48378ae600c294e9a27a3a054bc5b"}],"commits_in_all":2,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/a8aca93ea0512f0939ab720b7b02de5383d56f01...6a0aa8f9b88e17dd75be48c228b07537cae0abeb","head":"a8aca93ea0512f0939ab720b7b02de5383d56f01","behind_by":4},"stage":{"name":"deployed","deploying":{"result":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","merged_at":"2026-11-17T11:23:57.878234156Z","deadline":"2026-11-17T11:25:27.878234156Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:23:58.090311804Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:24:03.09504422Z","ready":2,"proof":"tag"}}',1794914637616849);
INSERT INTO "change" VALUES('01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','f6d66b25','checkout','staging','branch acme/checkout staging','deployed',0,0,6,NULL,NULL,'{"id":"01a1e93f-fe38-7ce5-a1da-b33ff6d66b25","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:24:07.608185914Z","plan":{"artefact":"checkout","environment":"staging","below":"qa","repository":"acme/checkout","branch":"staging","pinned":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","version":{"tag":"qa-08a0e65","digest":null,"commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b"},"from":{"tag":"staging-b4322cd","digest":null,"commit":"b4322cda721df23ce4169201e558beb8e2fecdf0"},"commits":[{"sha":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","subject":"Promote checkout develop-6a0aa8f to qa","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/08a0e652c6f44ad811a3ee64982e783bef29ec9b"},{"sha":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/6a0aa8f9b88e17dd75be48c228b07537cae0abeb"},{"sha":"a8aca93ea0512f0939ab720b7b02de5383d56f01","subject":"Merge 1bf72cd into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/a8aca93ea0512f0939ab720b7b02de5383d56f01"},{"sha":"0098779648c48378ae600c294e9a27a3a054bc5b","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/0098779648c48378ae600c294e9a27a3a054bc5b"},{"sha":"1bf72cd45b65a5cd4c1ccceb89795314162c2776","subject":"Accept vouchers of partners","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/1bf72cd45b65a5cd4c1ccceb89795314162c2776"}],"commits_in_all":5,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/b4322cda721df23ce4169201e558beb8e2fecdf0...08a0e652c6f44ad811a3ee64982e783bef29ec9b","head":"b4322cda721df23ce4169201e558beb8e2fecdf0","behind_by":3},"stage":{"name":"deployed","deploying":{"result":"765beea3dab1df2dd820d426590c1ab6bb9f351b","merged_at":"2026-11-17T11:24:07.841147264Z","deadline":"2026-11-17T11:25:37.841147264Z","tag":{"made":{"name":"staging/2026.11.17-1","at":"2026-11-17T11:24:07.977103265Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:24:12.980209939Z","ready":2,"proof":"tag"}}',1794914647608185);
INSERT INTO "change" VALUES('01a1e940-29f7-76ce-a0e8-d0c276c2c974','76c2c974','checkout','qa','branch acme/checkout qa','failed',0,1,8,NULL,NULL,'{"id":"01a1e940-29f7-76ce-a0e8-d0c276c2c974","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:24:18.807207663Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"e41650b586285dfbe7ee14078c9593760a37c13f","version":{"tag":"develop-e41650b","digest":null,"commit":"e41650b586285dfbe7ee14078c9593760a37c13f"},"from":{"tag":"qa-08a0e65","digest":null,"commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b"},"commits":[{"sha":"e41650b586285dfbe7ee14078c9593760a37c13f","subject":"Divide by the number of guests","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/e41650b586285dfbe7ee14078c9593760a37c13f"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/08a0e652c6f44ad811a3ee64982e783bef29ec9b...e41650b586285dfbe7ee14078c9593760a37c13f","head":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","behind_by":5},"stage":{"name":"failed","deploying":{"result":"f5a7a86d9cea05cb3991dccf8116f04f514fba32","merged_at":"2026-11-17T11:24:18.920372493Z","deadline":"2026-11-17T11:25:48.920372493Z","tag":{"made":{"name":"qa/2026.11.17-2","at":"2026-11-17T11:24:18.970818428Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:24:28.623544985Z","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"}}',1794914658807207);
INSERT INTO "change" VALUES('01a1e941-a782-73d0-96f0-1efe520763c5','520763c5','storefront','qa','branch acme/shop qa','deploying',1,1,7,1794914846522540,NULL,'{"id":"01a1e941-a782-73d0-96f0-1efe520763c5","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:25:56.482161877Z","plan":{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","version":{"tag":"develop-e814ab2","digest":null,"commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"},"from":{"tag":"qa-59e76f8","digest":null,"commit":"59e76f89cc5ca22a9a1d970fbe2be3a03a80884f"},"commits":[{"sha":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/59e76f89cc5ca22a9a1d970fbe2be3a03a80884f...e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","head":"59e76f89cc5ca22a9a1d970fbe2be3a03a80884f","behind_by":1},"stage":{"name":"deploying","result":"c8cb4a654db75ffc56106119039bfa92c2b7f570","merged_at":"2026-11-17T11:25:56.522539683Z","deadline":"2026-11-17T11:27:26.522539683Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:25:56.666432792Z"}},"nudge":null,"rollout":{"ready":0,"wanted":2},"others":[{"artefact":"mailer","version":"build-10","state":{"runs":{"ready":4}}}],"trouble":null}}',1794914756482161);
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    PRIMARY KEY (repository, base, head)
);
INSERT INTO "comparison" VALUES('acme/checkout','a8aca93ea0512f0939ab720b7b02de5383d56f01','0098779648c48378ae600c294e9a27a3a054bc5b',1,4);
INSERT INTO "comparison" VALUES('acme/checkout','b4322cda721df23ce4169201e558beb8e2fecdf0','a8aca93ea0512f0939ab720b7b02de5383d56f01',2,3);
INSERT INTO "comparison" VALUES('acme/checkout','d78b4e4aafb0809a697a2ce75bf5412d312548b9','b4322cda721df23ce4169201e558beb8e2fecdf0',3,2);
INSERT INTO "comparison" VALUES('acme/shop','59e76f89cc5ca22a9a1d970fbe2be3a03a80884f','63e0f9684b1818077824651a66c65481800b95e4',0,1);
INSERT INTO "comparison" VALUES('acme/shop','f4c4d263c04c7746eb69122228eab350b7980bf1','59e76f89cc5ca22a9a1d970fbe2be3a03a80884f',0,1);
INSERT INTO "comparison" VALUES('acme/shop','a2a2bde84ce735536082339334fd56c569b50436','f4c4d263c04c7746eb69122228eab350b7980bf1',0,1);
INSERT INTO "comparison" VALUES('acme/checkout','a8aca93ea0512f0939ab720b7b02de5383d56f01','6a0aa8f9b88e17dd75be48c228b07537cae0abeb',2,4);
INSERT INTO "comparison" VALUES('acme/search','c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087','bf8b64addc86dbbdc09de0c540770cabdedc6973',1,0);
INSERT INTO "comparison" VALUES('acme/checkout','08a0e652c6f44ad811a3ee64982e783bef29ec9b','6a0aa8f9b88e17dd75be48c228b07537cae0abeb',0,5);
INSERT INTO "comparison" VALUES('acme/checkout','b4322cda721df23ce4169201e558beb8e2fecdf0','08a0e652c6f44ad811a3ee64982e783bef29ec9b',5,3);
INSERT INTO "comparison" VALUES('acme/checkout','765beea3dab1df2dd820d426590c1ab6bb9f351b','08a0e652c6f44ad811a3ee64982e783bef29ec9b',0,4);
INSERT INTO "comparison" VALUES('acme/checkout','d78b4e4aafb0809a697a2ce75bf5412d312548b9','765beea3dab1df2dd820d426590c1ab6bb9f351b',9,2);
INSERT INTO "comparison" VALUES('acme/checkout','08a0e652c6f44ad811a3ee64982e783bef29ec9b','e41650b586285dfbe7ee14078c9593760a37c13f',1,5);
INSERT INTO "comparison" VALUES('acme/checkout','f5a7a86d9cea05cb3991dccf8116f04f514fba32','e41650b586285dfbe7ee14078c9593760a37c13f',0,6);
INSERT INTO "comparison" VALUES('acme/checkout','765beea3dab1df2dd820d426590c1ab6bb9f351b','f5a7a86d9cea05cb3991dccf8116f04f514fba32',2,4);
INSERT INTO "comparison" VALUES('acme/shop','59e76f89cc5ca22a9a1d970fbe2be3a03a80884f','e814ab2f37e9a951d4bc9d59ec86fb57282f13d8',1,1);
INSERT INTO "comparison" VALUES('acme/shop','c8cb4a654db75ffc56106119039bfa92c2b7f570','e814ab2f37e9a951d4bc9d59ec86fb57282f13d8',0,2);
INSERT INTO "comparison" VALUES('acme/shop','f4c4d263c04c7746eb69122228eab350b7980bf1','c8cb4a654db75ffc56106119039bfa92c2b7f570',2,1);
INSERT INTO "comparison" VALUES('acme/search','c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087','f4a3f63430907badd8a17289f00f52494203b13c',2,0);
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-6a0aa8f','6a0aa8f9b88e17dd75be48c228b07537cae0abeb','tag',1794914630768582);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.3','bf8b64addc86dbbdc09de0c540770cabdedc6973','label',1794914631157061);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-08a0e65','08a0e652c6f44ad811a3ee64982e783bef29ec9b','tag',1794914640065865);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','staging-765beea','765beea3dab1df2dd820d426590c1ab6bb9f351b','tag',1794914649973692);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-e41650b','e41650b586285dfbe7ee14078c9593760a37c13f','tag',1794914655522702);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-f5a7a86','f5a7a86d9cea05cb3991dccf8116f04f514fba32','tag',1794914660975476);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','develop-e814ab2','e814ab2f37e9a951d4bc9d59ec86fb57282f13d8','tag',1794914751333436);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-9','e814ab2f37e9a951d4bc9d59ec86fb57282f13d8','report',1794914754664566);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','qa-c8cb4a6','c8cb4a654db75ffc56106119039bfa92c2b7f570','tag',1794914759012607);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-10','c8cb4a654db75ffc56106119039bfa92c2b7f570','report',1794914761948855);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.4','f4a3f63430907badd8a17289f00f52494203b13c','label',1794914763528558);
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
INSERT INTO "inbox" VALUES(1,'slack_command','1.1794914615289.00000000000000000000000100000000',NULL,1794914615290682,1794914615290682,0,NULL,1794914615930476);
INSERT INTO "inbox" VALUES(2,'flux','661ffdc14746fecd60b42266cb820072',NULL,1794914630493948,1794914630493948,0,NULL,1794914630648758);
INSERT INTO "inbox" VALUES(3,'flux','7171e1c0698433c181abf373682dc88b',NULL,1794914630768582,1794914630768582,0,NULL,1794914630899025);
INSERT INTO "inbox" VALUES(4,'flux','f29498da6f303c530779a3dfa3c3aba6',NULL,1794914633341569,1794914633341569,0,NULL,1794914633644605);
INSERT INTO "inbox" VALUES(5,'flux','c923010d87b460234cd4aa4ceaa1a030',NULL,1794914633682582,1794914633682582,0,NULL,1794914633737135);
INSERT INTO "inbox" VALUES(6,'slack_command','12.1794914637291.00000000000000000000000c00000000',NULL,1794914637292362,1794914637292362,0,NULL,1794914637617207);
INSERT INTO "inbox" VALUES(7,'slack_command','15.1794914637481.00000000000000000000000f00000000',NULL,1794914637482678,1794914637482678,0,NULL,1794914637656535);
INSERT INTO "inbox" VALUES(8,'flux','4947f9f23c150577a3771954293ff915',NULL,1794914639992780,1794914639992780,0,NULL,1794914640085063);
INSERT INTO "inbox" VALUES(9,'flux','6aa8e28f8393ddae1f3f51dfca359541',NULL,1794914642974651,1794914642974651,0,NULL,1794914643085452);
INSERT INTO "inbox" VALUES(10,'slack_command','49.1794914647527.00000000000000000000003100000000',NULL,1794914647539766,1794914647539766,0,NULL,1794914647608461);
INSERT INTO "inbox" VALUES(11,'flux','5f378079badcdca9227ea13dac67ddf3',NULL,1794914649948528,1794914649948528,0,NULL,1794914650004490);
INSERT INTO "inbox" VALUES(12,'flux','cd1f748d55548d8ccd52a8bffb4e125a',NULL,1794914652955488,1794914652955488,0,NULL,1794914652980932);
INSERT INTO "inbox" VALUES(13,'flux','ea3d23320a41485e41e59d80840b7003',NULL,1794914655397707,1794914655397707,0,NULL,1794914655596848);
INSERT INTO "inbox" VALUES(14,'flux','19436e9af2ffc4f07c2418609199a47d',NULL,1794914658350554,1794914658350554,0,NULL,1794914658399482);
INSERT INTO "inbox" VALUES(15,'slack_command','80.1794914658649.00000000000000000000005000000000',NULL,1794914658673335,1794914658673335,0,NULL,1794914658807458);
INSERT INTO "inbox" VALUES(16,'flux','30414472d32c45e06252e78a4902b0a3',NULL,1794914660960566,1794914660960566,0,NULL,1794914661052521);
INSERT INTO "inbox" VALUES(17,'flux','2a62a01d24c2ddc13043cf16beeb742c',NULL,1794914668492988,1794914668492988,0,NULL,1794914668603745);
INSERT INTO "inbox" VALUES(18,'slack_command','98.1794914668639.00000000000000000000006200000000',NULL,1794914668656455,1794914668656455,0,NULL,1794914668675607);
INSERT INTO "inbox" VALUES(19,'slack_command','109.1794914732041.00000000000000000000006d00000000',NULL,1794914732042257,1794914732042257,0,NULL,1794914732071036);
INSERT INTO "inbox" VALUES(20,'slack_command','129.1794914732089.00000000000000000000008100000000',NULL,1794914732092457,1794914732092457,0,NULL,1794914732154778);
INSERT INTO "inbox" VALUES(21,'slack_command','133.1794914736264.00000000000000000000008500000000',NULL,1794914736265857,1794914736265857,0,NULL,1794914736280644);
INSERT INTO "inbox" VALUES(22,'slack_command','136.1794914736283.00000000000000000000008800000000',NULL,1794914736355720,1794914736355720,0,NULL,1794914736408454);
INSERT INTO "inbox" VALUES(23,'slack_command','140.1794914736405.00000000000000000000008c00000000',NULL,1794914736428588,1794914736428588,0,NULL,1794914736473381);
INSERT INTO "inbox" VALUES(24,'flux','34a5ff5e2fff9922b47d9cc20588df14',NULL,1794914751297923,1794914751297923,0,NULL,1794914751317661);
INSERT INTO "inbox" VALUES(25,'flux','714721476daa4bfa30b26ae0694eeccc',NULL,1794914751333436,1794914751333436,0,NULL,1794914751356687);
INSERT INTO "inbox" VALUES(26,'flux','8227863738a291c3b269c614e485aa06',NULL,1794914754398581,1794914754398581,0,NULL,1794914754608467);
INSERT INTO "inbox" VALUES(27,'flux','0893fcbb19b1f684114d208c3b1fe0d0',NULL,1794914754608467,1794914754608467,0,NULL,1794914754678064);
INSERT INTO "inbox" VALUES(28,'slack_command','155.1794914754936.00000000000000000000009b00000000',NULL,1794914754937488,1794914754937488,0,NULL,1794914755496649);
INSERT INTO "inbox" VALUES(29,'slack_command','158.1794914755136.00000000000000000000009e00000000',NULL,1794914755139498,1794914755139498,0,NULL,1794914755584880);
INSERT INTO "inbox" VALUES(30,'slack_interaction','171.1794914755856.0000000000000000000000ab00000000',NULL,1794914755857741,1794914755857741,0,NULL,1794914756482498);
INSERT INTO "inbox" VALUES(31,'slack_command','182.1794914756861.0000000000000000000000b600000000',NULL,1794914756884591,1794914756884591,0,NULL,1794914757044647);
INSERT INTO "inbox" VALUES(32,'slack_command','185.1794914756984.0000000000000000000000b900000000',NULL,1794914756985679,1794914756985679,0,NULL,1794914757176582);
INSERT INTO "inbox" VALUES(33,'flux','ffc777b3c58360fd80b61efbca79d3cc',NULL,1794914758652617,1794914758652617,0,NULL,1794914758988595);
INSERT INTO "inbox" VALUES(34,'flux','8845b0291b7b4b82c0665d2ccec49c98',NULL,1794914758988595,1794914758988595,0,NULL,1794914759012607);
INSERT INTO "inbox" VALUES(35,'slack_command','211.1794914761112.0000000000000000000000d300000000',NULL,1794914761173566,1794914761173566,0,NULL,1794914761183155);
INSERT INTO "inbox" VALUES(36,'flux','12e36a98ac92a0ee70914a990bb30174',NULL,1794914761698555,1794914761698555,0,NULL,1794914761936524);
INSERT INTO "inbox" VALUES(37,'flux','622436cbaf319c2037d03b72d2c2e1e5',NULL,1794914763424556,1794914763424556,0,NULL,1794914763536564);
INSERT INTO "inbox" VALUES(38,'flux','fa5be283cce99e668aed84c1342f131b',NULL,1794914766316795,1794914766316795,0,NULL,1794914766420653);
INSERT INTO "inbox" VALUES(39,'slack_command','214.1794914767186.0000000000000000000000d600000000',NULL,1794914767187546,1794914767187546,0,NULL,1794914767249498);
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
INSERT INTO "ledger" VALUES(1,1794914630648700,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:23:50.199619854Z","commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","environment":"development","key":"661ffdc14746fecd60b42266cb820072","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:6a0aa8f9b88e17dd75be48c228b07537cae0abeb"}');
INSERT INTO "ledger" VALUES(2,1794914630778686,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:23:50.646138401Z","commit":"d77c2e8189d10ebb5cdddd4ee9f1319113793e80","environment":"development","key":"7171e1c0698433c181abf373682dc88b","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:d77c2e8189d10ebb5cdddd4ee9f1319113793e80"}');
INSERT INTO "ledger" VALUES(3,1794914633372699,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","digest":null,"tag":"develop-6a0aa8f"}}');
INSERT INTO "ledger" VALUES(4,1794914633536821,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:23:53.323458663Z","commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","environment":"development","key":"f29498da6f303c530779a3dfa3c3aba6","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:6a0aa8f9b88e17dd75be48c228b07537cae0abeb"}');
INSERT INTO "ledger" VALUES(5,1794914633669409,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"bf8b64addc86dbbdc09de0c540770cabdedc6973","digest":null,"tag":"1.0.3"}}');
INSERT INTO "ledger" VALUES(6,1794914633736814,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:23:53.661605197Z","commit":"d77c2e8189d10ebb5cdddd4ee9f1319113793e80","environment":"development","key":"c923010d87b460234cd4aa4ceaa1a030","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:d77c2e8189d10ebb5cdddd4ee9f1319113793e80"}');
INSERT INTO "ledger" VALUES(7,1794914637616881,'01a1e93f-d730-740e-8ef5-8dbc1da288c0','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","digest":null,"tag":"develop-6a0aa8f"}}');
INSERT INTO "ledger" VALUES(8,1794914637878498,'01a1e93f-d730-740e-8ef5-8dbc1da288c0','deploying','checkout','qa','"controller"','{"pinned":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","stage":{"deadline":"2026-11-17T11:25:27.878234156Z","merged_at":"2026-11-17T11:23:57.878234156Z","name":"deploying","nudge":null,"others":[],"result":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","digest":null,"tag":"develop-6a0aa8f"}}');
INSERT INTO "ledger" VALUES(9,1794914640073505,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:23:59.896605477Z","commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","environment":"qa","key":"4947f9f23c150577a3771954293ff915","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:08a0e652c6f44ad811a3ee64982e783bef29ec9b"}');
INSERT INTO "ledger" VALUES(10,1794914643085356,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:24:02.972495128Z","commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","environment":"qa","key":"6aa8e28f8393ddae1f3f51dfca359541","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:08a0e652c6f44ad811a3ee64982e783bef29ec9b"}');
INSERT INTO "ledger" VALUES(11,1794914643095334,'01a1e93f-d730-740e-8ef5-8dbc1da288c0','deployed','checkout','qa','"controller"','{"pinned":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","stage":{"at":"2026-11-17T11:24:03.09504422Z","deploying":{"deadline":"2026-11-17T11:25:27.878234156Z","merged_at":"2026-11-17T11:23:57.878234156Z","nudge":null,"others":[],"result":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","rollout":null,"tag":{"made":{"at":"2026-11-17T11:23:58.090311804Z","name":"qa/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"6a0aa8f9b88e17dd75be48c228b07537cae0abeb","digest":null,"tag":"develop-6a0aa8f"}}');
INSERT INTO "ledger" VALUES(12,1794914647608203,'01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','begun','checkout','staging','{"person":"U0ALICE"}','{"pinned":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","digest":null,"tag":"qa-08a0e65"}}');
INSERT INTO "ledger" VALUES(13,1794914647841439,'01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','deploying','checkout','staging','"controller"','{"pinned":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","stage":{"deadline":"2026-11-17T11:25:37.841147264Z","merged_at":"2026-11-17T11:24:07.841147264Z","name":"deploying","nudge":null,"others":[],"result":"765beea3dab1df2dd820d426590c1ab6bb9f351b","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","digest":null,"tag":"qa-08a0e65"}}');
INSERT INTO "ledger" VALUES(14,1794914649996990,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:24:09.871470556Z","commit":"765beea3dab1df2dd820d426590c1ab6bb9f351b","environment":"staging","key":"5f378079badcdca9227ea13dac67ddf3","message":"Deployment/staging/checkout configured","outcome":"progressing","revision":"staging@sha1:765beea3dab1df2dd820d426590c1ab6bb9f351b"}');
INSERT INTO "ledger" VALUES(15,1794914652980859,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:24:12.911816188Z","commit":"765beea3dab1df2dd820d426590c1ab6bb9f351b","environment":"staging","key":"cd1f748d55548d8ccd52a8bffb4e125a","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"staging@sha1:765beea3dab1df2dd820d426590c1ab6bb9f351b"}');
INSERT INTO "ledger" VALUES(16,1794914652981276,'01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','deployed','checkout','staging','"controller"','{"pinned":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","stage":{"at":"2026-11-17T11:24:12.980209939Z","deploying":{"deadline":"2026-11-17T11:25:37.841147264Z","merged_at":"2026-11-17T11:24:07.841147264Z","nudge":null,"others":[],"result":"765beea3dab1df2dd820d426590c1ab6bb9f351b","rollout":null,"tag":{"made":{"at":"2026-11-17T11:24:07.977103265Z","name":"staging/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"08a0e652c6f44ad811a3ee64982e783bef29ec9b","digest":null,"tag":"qa-08a0e65"}}');
INSERT INTO "ledger" VALUES(17,1794914655572799,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:24:15.276614561Z","commit":"e41650b586285dfbe7ee14078c9593760a37c13f","environment":"development","key":"ea3d23320a41485e41e59d80840b7003","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:e41650b586285dfbe7ee14078c9593760a37c13f"}');
INSERT INTO "ledger" VALUES(18,1794914658364698,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"e41650b586285dfbe7ee14078c9593760a37c13f","digest":null,"tag":"develop-e41650b"}}');
INSERT INTO "ledger" VALUES(19,1794914658380777,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:24:18.348515496Z","commit":"e41650b586285dfbe7ee14078c9593760a37c13f","environment":"development","key":"19436e9af2ffc4f07c2418609199a47d","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:e41650b586285dfbe7ee14078c9593760a37c13f"}');
INSERT INTO "ledger" VALUES(20,1794914658807222,'01a1e940-29f7-76ce-a0e8-d0c276c2c974','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"e41650b586285dfbe7ee14078c9593760a37c13f","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"e41650b586285dfbe7ee14078c9593760a37c13f","digest":null,"tag":"develop-e41650b"}}');
INSERT INTO "ledger" VALUES(21,1794914658920595,'01a1e940-29f7-76ce-a0e8-d0c276c2c974','deploying','checkout','qa','"controller"','{"pinned":"e41650b586285dfbe7ee14078c9593760a37c13f","stage":{"deadline":"2026-11-17T11:25:48.920372493Z","merged_at":"2026-11-17T11:24:18.920372493Z","name":"deploying","nudge":null,"others":[],"result":"f5a7a86d9cea05cb3991dccf8116f04f514fba32","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"e41650b586285dfbe7ee14078c9593760a37c13f","digest":null,"tag":"develop-e41650b"}}');
INSERT INTO "ledger" VALUES(22,1794914661008828,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:24:20.93872785Z","commit":"f5a7a86d9cea05cb3991dccf8116f04f514fba32","environment":"qa","key":"30414472d32c45e06252e78a4902b0a3","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:f5a7a86d9cea05cb3991dccf8116f04f514fba32"}');
INSERT INTO "ledger" VALUES(23,1794914668601180,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:24:28.470190529Z","commit":"f5a7a86d9cea05cb3991dccf8116f04f514fba32","environment":"qa","key":"2a62a01d24c2ddc13043cf16beeb742c","message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']","outcome":{"failed":{"message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']"}},"revision":"qa@sha1:f5a7a86d9cea05cb3991dccf8116f04f514fba32"}');
INSERT INTO "ledger" VALUES(24,1794914668623795,'01a1e940-29f7-76ce-a0e8-d0c276c2c974','failed','checkout','qa','"controller"','{"pinned":"e41650b586285dfbe7ee14078c9593760a37c13f","stage":{"at":"2026-11-17T11:24:28.623544985Z","deploying":{"deadline":"2026-11-17T11:25:48.920372493Z","merged_at":"2026-11-17T11:24:18.920372493Z","nudge":null,"others":[],"result":"f5a7a86d9cea05cb3991dccf8116f04f514fba32","rollout":null,"tag":{"made":{"at":"2026-11-17T11:24:18.970818428Z","name":"qa/2026.11.17-2"}},"trouble":null},"name":"failed","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"},"version":{"commit":"e41650b586285dfbe7ee14078c9593760a37c13f","digest":null,"tag":"develop-e41650b"}}');
INSERT INTO "ledger" VALUES(25,1794914751317594,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:25:51.210450297Z","commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","environment":"development","key":"34a5ff5e2fff9922b47d9cc20588df14","message":"StatefulSet/development/mailer configured\nDeployment/development/mailer-web configured","outcome":"progressing","revision":"develop@sha1:e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}');
INSERT INTO "ledger" VALUES(26,1794914751346413,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:25:51.211379078Z","commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","environment":"development","key":"714721476daa4bfa30b26ae0694eeccc","message":"Deployment/development/storefront configured","outcome":"progressing","revision":"develop@sha1:e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}');
INSERT INTO "ledger" VALUES(27,1794914754532897,NULL,'arrived','mailer','development','"controller"','{"failed":null,"version":{"commit":null,"digest":null,"tag":"build-9"}}');
INSERT INTO "ledger" VALUES(28,1794914754534606,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:25:54.378265683Z","commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","environment":"development","key":"8227863738a291c3b269c614e485aa06","message":"Reconciliation finished in 3.2s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}');
INSERT INTO "ledger" VALUES(29,1794914754615742,NULL,'arrived','storefront','development','"controller"','{"failed":null,"version":{"commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","digest":null,"tag":"develop-e814ab2"}}');
INSERT INTO "ledger" VALUES(30,1794914754668601,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:25:54.379092302Z","commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","environment":"development","key":"0893fcbb19b1f684114d208c3b1fe0d0","message":"Reconciliation finished in 3.2s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}');
INSERT INTO "ledger" VALUES(31,1794914756482185,'01a1e941-a782-73d0-96f0-1efe520763c5','begun','storefront','qa','{"person":"U0ALICE"}','{"pinned":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","digest":null,"tag":"develop-e814ab2"}}');
INSERT INTO "ledger" VALUES(32,1794914756522759,'01a1e941-a782-73d0-96f0-1efe520763c5','deploying','storefront','qa','"controller"','{"pinned":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","stage":{"deadline":"2026-11-17T11:27:26.522539683Z","merged_at":"2026-11-17T11:25:56.522539683Z","name":"deploying","nudge":null,"others":[],"result":"c8cb4a654db75ffc56106119039bfa92c2b7f570","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","digest":null,"tag":"develop-e814ab2"}}');
INSERT INTO "ledger" VALUES(33,1794914757023365,NULL,'locked','mailer','staging','{"person":"U0ALICE"}','{"lock":{"artefact":"mailer","by":"U0ALICE","environment":"staging","id":"01a1e941-a99f-7b6f-b219-155fdabc39d4","reason":"Moving its queue","since":"2026-11-17T11:25:57.023331207Z","until":"2026-11-17T13:25:57.023331207Z"}}');
INSERT INTO "ledger" VALUES(34,1794914757112617,NULL,'locked',NULL,'prod','{"person":"U0CAROL"}','{"lock":{"artefact":null,"by":"U0CAROL","environment":"prod","id":"01a1e941-a9f8-7bf5-9e1f-1bb4f9607459","reason":"The shop is full","since":"2026-11-17T11:25:57.112581349Z","until":null}}');
INSERT INTO "ledger" VALUES(35,1794914758806193,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:25:58.52003811Z","commit":"c8cb4a654db75ffc56106119039bfa92c2b7f570","environment":"qa","key":"ffc777b3c58360fd80b61efbca79d3cc","message":"StatefulSet/qa/mailer configured\nDeployment/qa/mailer-web configured","outcome":"progressing","revision":"qa@sha1:c8cb4a654db75ffc56106119039bfa92c2b7f570"}');
INSERT INTO "ledger" VALUES(36,1794914759005616,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"qa"},"at":"2026-11-17T11:25:58.564495602Z","commit":"c8cb4a654db75ffc56106119039bfa92c2b7f570","environment":"qa","key":"8845b0291b7b4b82c0665d2ccec49c98","message":"Deployment/qa/storefront configured","outcome":"progressing","revision":"qa@sha1:c8cb4a654db75ffc56106119039bfa92c2b7f570"}');
INSERT INTO "ledger" VALUES(37,1794914761929623,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:26:01.696557348Z","commit":"c8cb4a654db75ffc56106119039bfa92c2b7f570","environment":"qa","key":"12e36a98ac92a0ee70914a990bb30174","message":"Reconciliation finished in 3.2s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:c8cb4a654db75ffc56106119039bfa92c2b7f570"}');
INSERT INTO "ledger" VALUES(38,1794914763530443,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:26:03.179121403Z","commit":"fdc6f7ef9bfb021b75ad00550fc1a0ded4b9dfa3","environment":"development","key":"622436cbaf319c2037d03b72d2c2e1e5","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:fdc6f7ef9bfb021b75ad00550fc1a0ded4b9dfa3"}');
INSERT INTO "ledger" VALUES(39,1794914766393815,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"f4a3f63430907badd8a17289f00f52494203b13c","digest":null,"tag":"1.0.4"}}');
INSERT INTO "ledger" VALUES(40,1794914766414755,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:26:06.287862604Z","commit":"fdc6f7ef9bfb021b75ad00550fc1a0ded4b9dfa3","environment":"development","key":"fa5be283cce99e668aed84c1342f131b","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:fdc6f7ef9bfb021b75ad00550fc1a0ded4b9dfa3"}');
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
INSERT INTO "lock" VALUES('01a1e941-a99f-7b6f-b219-155fdabc39d4','staging','mailer','U0ALICE','Moving its queue',1794914757023331,1794921957023332,1795001157023332);
INSERT INTO "lock" VALUES('01a1e941-a9f8-7bf5-9e1f-1bb4f9607459','prod','','U0CAROL','The shop is full',1794914757112581,NULL,1795001157112582);
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
INSERT INTO "outbox" VALUES(1,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005W","until":"2026-11-17T11:56:01.173566Z"},"replace":false}},"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794914761183155,1794914776640361,4,'the response URL was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(2,'#deploys','card:01a1e941-a782-73d0-96f0-1efe520763c5','{"to":{"post":{"channel":"#deploys","key":"card:01a1e941-a782-73d0-96f0-1efe520763c5","thread":null,"asked":{"person":"U0ALICE","channel":"C0DEPLOYS"}}},"text":"*storefront* `develop-e814ab2`: deploying to *qa*, 0 of 2 ready","blocks":[{"text":{"text":":hourglass_flowing_sand: *storefront* `develop-e814ab2`: deploying to *qa*, 0 of 2 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":":white_check_mark: merged into `qa` as <http://127.0.0.1:8484/sim/github/acme/shop/commit/c8cb4a654db75ffc56106119039bfa92c2b7f570|c8cb4a6> · 0 s\n:white_check_mark: tagged `qa/2026.11.17-1` · 0 s\n:hourglass_flowing_sand: the cluster rolls it out\n:small_blue_diamond: *mailer* `build-10` runs, 4 of 4 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":"`qa-59e76f8` → `develop-e814ab2`, commit `e814ab2` as it runs in development · <http://127.0.0.1:8484/sim/github/acme/shop/compare/59e76f89cc5ca22a9a1d970fbe2be3a03a80884f...e814ab2f37e9a951d4bc9d59ec86fb57282f13d8|compare>\n1 commit:\n• <http://127.0.0.1:8484/sim/github/acme/shop/commit/e814ab2f37e9a951d4bc9d59ec86fb57282f13d8|e814ab2> Show the basket · Alice Adler","type":"mrkdwn"},"type":"section"},{"text":{"text":":twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer* (only built anew)","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"asked by <@U0ALICE> · <!date^1794914756^{date_short_pretty} {time}|2026-11-17 11:25 UTC> · change `520763c5`","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914761952991,1794914776947394,4,'chat.update was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(3,'#deploys','arrival:development:search:1794914763408984','{"to":{"post":{"channel":"#deploys","key":"arrival:development:search:1794914763408984","thread":null,"asked":null}},"text":"search 1.0.4 runs in development","blocks":[{"text":{"text":":large_green_circle: *search* `1.0.4` runs in *development*\n<http://127.0.0.1:8484/sim/github/acme/search/commit/f4a3f63430907badd8a17289f00f52494203b13c|f4a3f63> Sort by price · Alice Adler · rolled out in 2 s","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: `/promote search qa`","type":"mrkdwn"}],"type":"context"},{"elements":[{"action_id":"arrival_promote","text":{"text":"Promote","type":"plain_text"},"type":"button","value":"arrival:development:search:1794914763408984"}],"type":"actions"}],"plain":null}',0,1794914766413165,1794914766413165,0,NULL);
INSERT INTO "outbox" VALUES(4,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005Z","until":"2026-11-17T11:56:07.187546Z"},"replace":false}},"text":"*checkout* `qa-f5a7a86` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","blocks":[{"text":{"text":"*checkout* `qa-f5a7a86` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914767249498,1794914767249498,0,NULL);
CREATE TABLE plan (
    id      TEXT   PRIMARY KEY,
    person  TEXT   NOT NULL,
    body    TEXT   NOT NULL,
    made_at BIGINT NOT NULL
);
INSERT INTO "plan" VALUES('01a1e941-a247-793f-b050-7d5cc93d0a2f','U0CAROL','{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","version":{"tag":"develop-e814ab2","digest":null,"commit":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"},"from":{"tag":"qa-59e76f8","digest":null,"commit":"59e76f89cc5ca22a9a1d970fbe2be3a03a80884f"},"commits":[{"sha":"e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/e814ab2f37e9a951d4bc9d59ec86fb57282f13d8"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/59e76f89cc5ca22a9a1d970fbe2be3a03a80884f...e814ab2f37e9a951d4bc9d59ec86fb57282f13d8","head":"59e76f89cc5ca22a9a1d970fbe2be3a03a80884f","behind_by":1}',1794914755143684);
CREATE TABLE said (
    key     TEXT   PRIMARY KEY,
    queue   TEXT   NOT NULL,
    channel TEXT   NOT NULL,
    ts      TEXT   NOT NULL,
    note    TEXT,
    said_at BIGINT NOT NULL
);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914630207093','#deploys','C0DEPLOYS','1794914633.654100',NULL,1794914633654579);
INSERT INTO "said" VALUES('arrival:development:search:1794914630650381','#deploys','C0DEPLOYS','1794914633.737600',NULL,1794914633916472);
INSERT INTO "said" VALUES('card:01a1e93f-d730-740e-8ef5-8dbc1da288c0','#deploys','C0DEPLOYS','1794914637.629700',NULL,1794914643099907);
INSERT INTO "said" VALUES('deployed:1794914643095390:01a1e93f-d730-740e-8ef5-8dbc1da288c0','#deploys','C0DEPLOYS','1794914643.113700',NULL,1794914643114212);
INSERT INTO "said" VALUES('card:01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','#deploys','C0DEPLOYS','1794914647.615600',NULL,1794914653004694);
INSERT INTO "said" VALUES('deployed:1794914652981321:01a1e93f-fe38-7ce5-a1da-b33ff6d66b25','#deploys','C0DEPLOYS','1794914653.008200',NULL,1794914653008714);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914655397976','#deploys','C0DEPLOYS','1794914658.402600',NULL,1794914658416599);
INSERT INTO "said" VALUES('card:01a1e940-29f7-76ce-a0e8-d0c276c2c974','#deploys','C0DEPLOYS','1794914658.853200',NULL,1794914668664380);
INSERT INTO "said" VALUES('failed:1794914668623844:01a1e940-29f7-76ce-a0e8-d0c276c2c974','#deploys','C0DEPLOYS','1794914668.687500',NULL,1794914668688000);
INSERT INTO "said" VALUES('arrival:development:mailer:1794914751253038','#deploys','C0DEPLOYS','1794914754.614200',NULL,1794914754729892);
INSERT INTO "said" VALUES('arrival:development:storefront:1794914751253052','#deploys','C0DEPLOYS','1794914754.683400',NULL,1794914754689571);
INSERT INTO "said" VALUES('card:01a1e941-a782-73d0-96f0-1efe520763c5','#deploys','C0DEPLOYS','1794914756.525100',NULL,1794914759662202);
INSERT INTO "said" VALUES('lock:01a1e941-a9f8-7bf5-9e1f-1bb4f9607459','#releases','C0RELEASES','1794914757.615900',NULL,1794914757632534);
INSERT INTO "said" VALUES('lock:01a1e941-a99f-7b6f-b219-155fdabc39d4','#deploys','C0DEPLOYS','1794914758.643700',NULL,1794914758652617);
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
INSERT INTO "sighting" VALUES(1,'checkout','development','develop-17d10d4',NULL,'17d10d47bab62617b9bcb225fbdd9079d930b2f5',1794399811550671,1794399811550671,NULL,1794486211550671,1,1794399811550671);
INSERT INTO "sighting" VALUES(2,'checkout','development','develop-44f1404',NULL,'44f14044f71daae89b503255ad0f177ee773c0fe',1794486211550671,1794486211550671,NULL,1794572611550671,1,1794486211550671);
INSERT INTO "sighting" VALUES(3,'checkout','qa','qa-17d10d4',NULL,'17d10d47bab62617b9bcb225fbdd9079d930b2f5',1794493411550671,1794493411550671,NULL,1794579811550671,1,1794493411550671);
INSERT INTO "sighting" VALUES(4,'checkout','development','develop-ac99539',NULL,'ac995396424da4ef9b41838cd09f2635bee84555',1794572611550671,1794572611550671,NULL,1794659011550671,1,1794572611550671);
INSERT INTO "sighting" VALUES(5,'checkout','qa','qa-30f248e',NULL,'30f248ee7092381a9f5cfc5967d7ddbb481e1a69',1794579811550671,1794579811550671,NULL,1794666211550671,1,1794579811550671);
INSERT INTO "sighting" VALUES(6,'checkout','staging','staging-17d10d4',NULL,'17d10d47bab62617b9bcb225fbdd9079d930b2f5',1794583411550671,1794583411550671,NULL,1794669811550671,1,1794583411550671);
INSERT INTO "sighting" VALUES(7,'checkout','development','develop-6010c13',NULL,'6010c13d0386d3935e68d4bd3cedbef49f942ca3',1794659011550671,1794659011550671,NULL,1794745411550671,1,1794659011550671);
INSERT INTO "sighting" VALUES(8,'checkout','qa','qa-81533a6',NULL,'81533a61910654fb9cb9e2b3d78603156098375a',1794666211550671,1794666211550671,NULL,1794752611550671,1,1794666211550671);
INSERT INTO "sighting" VALUES(9,'checkout','staging','staging-5902cfd',NULL,'5902cfd92ba4208016e538740df3c1f38b12d38d',1794669811550671,1794669811550671,NULL,1794756211550671,1,1794669811550671);
INSERT INTO "sighting" VALUES(10,'checkout','prod','prod-17d10d4',NULL,'17d10d47bab62617b9bcb225fbdd9079d930b2f5',1794673411550671,1794673411550671,NULL,1794759811550671,1,1794673411550671);
INSERT INTO "sighting" VALUES(11,'checkout','development','develop-1bf72cd',NULL,'1bf72cd45b65a5cd4c1ccceb89795314162c2776',1794745411550671,1794745411550671,NULL,1794831811550671,1,1794745411550671);
INSERT INTO "sighting" VALUES(12,'checkout','qa','qa-2f6dd96',NULL,'2f6dd9621bbe46dde3b31fcb8af5562e99a2c241',1794752611550671,1794752611550671,NULL,1794839011550671,1,1794752611550671);
INSERT INTO "sighting" VALUES(13,'checkout','staging','staging-4b07e0b',NULL,'4b07e0b14c4f651a332db0ba62a674669390ac3b',1794756211550671,1794756211550671,NULL,1794842611550671,1,1794756211550671);
INSERT INTO "sighting" VALUES(14,'checkout','prod','prod-8ec886b',NULL,'8ec886bf173bf113f7b26229c58cda81de5cb8cd',1794759811550671,1794759811550671,NULL,1794846211550671,1,1794759811550671);
INSERT INTO "sighting" VALUES(15,'checkout','development','develop-0098779',NULL,'0098779648c48378ae600c294e9a27a3a054bc5b',1794831811550671,1794831811550671,NULL,1794914630207093,1,1794831811550671);
INSERT INTO "sighting" VALUES(16,'checkout','qa','qa-a8aca93',NULL,'a8aca93ea0512f0939ab720b7b02de5383d56f01',1794839011550671,1794839011550671,NULL,1794914639899047,1,1794839011550671);
INSERT INTO "sighting" VALUES(17,'checkout','staging','staging-b4322cd',NULL,'b4322cda721df23ce4169201e558beb8e2fecdf0',1794842611550671,1794842611550671,NULL,1794914649869693,1,1794842611550671);
INSERT INTO "sighting" VALUES(18,'checkout','prod','prod-d78b4e4',NULL,'d78b4e4aafb0809a697a2ce75bf5412d312548b9',1794846211550671,1794846211550671,NULL,NULL,1,1794846211550671);
INSERT INTO "sighting" VALUES(19,'mailer','development','build-1',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794399811550671,1794399811550671,NULL,1794486211550671,1,1794399811550671);
INSERT INTO "sighting" VALUES(20,'storefront','development','develop-8897675',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794399811550671,1794399811550671,NULL,1794486211550671,1,1794399811550671);
INSERT INTO "sighting" VALUES(21,'mailer','qa','build-2',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794407011550671,1794407011550671,NULL,1794493411550671,1,1794407011550671);
INSERT INTO "sighting" VALUES(22,'storefront','qa','qa-8897675',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794407011550671,1794407011550671,NULL,1794493411550671,1,1794407011550671);
INSERT INTO "sighting" VALUES(23,'mailer','staging','build-3',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794410611550671,1794410611550671,NULL,1794497011550671,1,1794410611550671);
INSERT INTO "sighting" VALUES(24,'storefront','staging','staging-8897675',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794410611550671,1794410611550671,NULL,1794497011550671,1,1794410611550671);
INSERT INTO "sighting" VALUES(25,'mailer','prod','build-4',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794414211550671,1794414211550671,NULL,1794500611550671,1,1794414211550671);
INSERT INTO "sighting" VALUES(26,'storefront','prod','prod-8897675',NULL,'8897675b562cf457bfb3c0885fa76870cb199d48',1794414211550671,1794414211550671,NULL,1794500611550671,1,1794414211550671);
INSERT INTO "sighting" VALUES(27,'mailer','development','build-5',NULL,'63e0f9684b1818077824651a66c65481800b95e4',1794486211550671,1794486211550671,NULL,1794914751253038,1,1794486211550671);
INSERT INTO "sighting" VALUES(28,'storefront','development','develop-63e0f96',NULL,'63e0f9684b1818077824651a66c65481800b95e4',1794486211550671,1794486211550671,NULL,1794914751253052,1,1794486211550671);
INSERT INTO "sighting" VALUES(29,'mailer','qa','build-6',NULL,'59e76f89cc5ca22a9a1d970fbe2be3a03a80884f',1794493411550671,1794493411550671,NULL,1794914758567510,1,1794493411550671);
INSERT INTO "sighting" VALUES(30,'storefront','qa','qa-59e76f8',NULL,'59e76f89cc5ca22a9a1d970fbe2be3a03a80884f',1794493411550671,1794493411550671,NULL,1794914758652891,1,1794493411550671);
INSERT INTO "sighting" VALUES(31,'mailer','staging','build-7',NULL,'f4c4d263c04c7746eb69122228eab350b7980bf1',1794497011550671,1794497011550671,NULL,NULL,1,1794497011550671);
INSERT INTO "sighting" VALUES(32,'storefront','staging','staging-f4c4d26',NULL,'f4c4d263c04c7746eb69122228eab350b7980bf1',1794497011550671,1794497011550671,NULL,NULL,1,1794497011550671);
INSERT INTO "sighting" VALUES(33,'mailer','prod','build-8',NULL,'a2a2bde84ce735536082339334fd56c569b50436',1794500611550671,1794500611550671,NULL,NULL,1,1794500611550671);
INSERT INTO "sighting" VALUES(34,'storefront','prod','prod-a2a2bde',NULL,'a2a2bde84ce735536082339334fd56c569b50436',1794500611550671,1794500611550671,NULL,NULL,1,1794500611550671);
INSERT INTO "sighting" VALUES(35,'search','development','1.0.1',NULL,'9002c54d343e149fb3f759d3dd520a1af4760175',1794403411550671,1794403411550671,NULL,1794489811550671,1,1794403411550671);
INSERT INTO "sighting" VALUES(36,'search','qa','1.0.1',NULL,'9002c54d343e149fb3f759d3dd520a1af4760175',1794407011550671,1794407011550671,NULL,1794493411550671,1,1794407011550671);
INSERT INTO "sighting" VALUES(37,'search','staging','1.0.1',NULL,'9002c54d343e149fb3f759d3dd520a1af4760175',1794410611550671,1794410611550671,NULL,1794497011550671,1,1794410611550671);
INSERT INTO "sighting" VALUES(38,'search','prod','1.0.1',NULL,'9002c54d343e149fb3f759d3dd520a1af4760175',1794414211550671,1794414211550671,NULL,1794500611550671,1,1794414211550671);
INSERT INTO "sighting" VALUES(39,'search','development','1.0.2',NULL,'c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087',1794489811550671,1794489811550671,NULL,1794914630650381,1,1794489811550671);
INSERT INTO "sighting" VALUES(40,'search','qa','1.0.2',NULL,'c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087',1794493411550671,1794493411550671,NULL,NULL,1,1794493411550671);
INSERT INTO "sighting" VALUES(41,'search','staging','1.0.2',NULL,'c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087',1794497011550671,1794497011550671,NULL,NULL,1,1794497011550671);
INSERT INTO "sighting" VALUES(42,'search','prod','1.0.2',NULL,'c4c8bcb10510e6ffe7ecd699945e1d6bd94ec087',1794500611550671,1794500611550671,NULL,NULL,1,1794500611550671);
INSERT INTO "sighting" VALUES(43,'checkout','development','develop-6a0aa8f',NULL,'6a0aa8f9b88e17dd75be48c228b07537cae0abeb',1794914630207093,1794914633310925,NULL,1794914655397976,1,1794914633310925);
INSERT INTO "sighting" VALUES(44,'search','development','1.0.3',NULL,'bf8b64addc86dbbdc09de0c540770cabdedc6973',1794914630650381,1794914633662700,NULL,1794914763408984,1,1794914633662700);
INSERT INTO "sighting" VALUES(45,'checkout','qa','qa-08a0e65',NULL,'08a0e652c6f44ad811a3ee64982e783bef29ec9b',1794914639899047,1794914642981274,NULL,1794914660937366,1,1794914642981274);
INSERT INTO "sighting" VALUES(46,'checkout','staging','staging-765beea',NULL,'765beea3dab1df2dd820d426590c1ab6bb9f351b',1794914649869693,1794914652913177,NULL,NULL,1,1794914652913177);
INSERT INTO "sighting" VALUES(47,'checkout','development','develop-e41650b',NULL,'e41650b586285dfbe7ee14078c9593760a37c13f',1794914655397976,1794914658350656,NULL,NULL,1,1794914658350656);
INSERT INTO "sighting" VALUES(48,'checkout','qa','qa-f5a7a86',NULL,'f5a7a86d9cea05cb3991dccf8116f04f514fba32',1794914660937366,NULL,'ReplicaSet "checkout-6b00019b" has timed out progressing.',NULL,1,NULL);
INSERT INTO "sighting" VALUES(49,'mailer','development','build-9',NULL,'e814ab2f37e9a951d4bc9d59ec86fb57282f13d8',1794914751253038,1794914754532799,NULL,NULL,1,1794914754532799);
INSERT INTO "sighting" VALUES(50,'storefront','development','develop-e814ab2',NULL,'e814ab2f37e9a951d4bc9d59ec86fb57282f13d8',1794914751253052,1794914754609811,NULL,NULL,1,1794914754609811);
INSERT INTO "sighting" VALUES(51,'mailer','qa','build-10',NULL,'c8cb4a654db75ffc56106119039bfa92c2b7f570',1794914758567510,1794914761702513,NULL,NULL,1,1794914761702513);
INSERT INTO "sighting" VALUES(52,'storefront','qa','qa-c8cb4a6',NULL,'c8cb4a654db75ffc56106119039bfa92c2b7f570',1794914758652891,NULL,NULL,NULL,0,NULL);
INSERT INTO "sighting" VALUES(53,'search','development','1.0.4',NULL,'f4a3f63430907badd8a17289f00f52494203b13c',1794914763408984,1794914766293285,NULL,NULL,1,1794914766293285);
CREATE TABLE tag (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    change_id  TEXT NOT NULL,
    PRIMARY KEY (repository, name)
);
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-1','01a1e93f-d730-740e-8ef5-8dbc1da288c0');
INSERT INTO "tag" VALUES('acme/checkout','staging/2026.11.17-1','01a1e93f-fe38-7ce5-a1da-b33ff6d66b25');
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-2','01a1e940-29f7-76ce-a0e8-d0c276c2c974');
INSERT INTO "tag" VALUES('acme/shop','qa/2026.11.17-1','01a1e941-a782-73d0-96f0-1efe520763c5');
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
