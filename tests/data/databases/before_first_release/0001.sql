BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'first','2026-11-17 11:11:33',1,X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E',13951633);
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    PRIMARY KEY (repository, base, head)
);
INSERT INTO "comparison" VALUES('acme/checkout','6d6658511197f580e02743609d9da128d63e0730','64cb51faf7b3a05bd641c4c0aecc71374b37eb17',1,4);
INSERT INTO "comparison" VALUES('acme/checkout','42181defe852c2f15e3c1fc5f712dec0a5695a94','6d6658511197f580e02743609d9da128d63e0730',2,3);
INSERT INTO "comparison" VALUES('acme/checkout','1bf00874c65b1300afb7a04d6f55c44a1a4135f1','42181defe852c2f15e3c1fc5f712dec0a5695a94',3,2);
INSERT INTO "comparison" VALUES('acme/shop','8c298c6233b16f7dd23fb407f391da672bdcf4fe','87214216c6c0a9d231bbbf2c69aab4a69f2f4a3d',0,1);
INSERT INTO "comparison" VALUES('acme/shop','f839665f92e12531dcf070c6f8eb1839ce449a74','8c298c6233b16f7dd23fb407f391da672bdcf4fe',0,1);
INSERT INTO "comparison" VALUES('acme/shop','da3b6af623a0390c5a138df4f1c63a458fd0e847','f839665f92e12531dcf070c6f8eb1839ce449a74',0,1);
INSERT INTO "comparison" VALUES('acme/checkout','6d6658511197f580e02743609d9da128d63e0730','052dc59149ba6c614c7b4fb3dbff2322b9648bb6',2,4);
INSERT INTO "comparison" VALUES('acme/search','4ab321e733402e172fa7579716e3c4578c78a2e5','1d826e08318bcd1bc016b2395652c1e1cd47b961',1,0);
INSERT INTO "comparison" VALUES('acme/checkout','6d6658511197f580e02743609d9da128d63e0730','5160769de6fa20d21c75faf71c975698a804581b',3,4);
INSERT INTO "comparison" VALUES('acme/shop','8c298c6233b16f7dd23fb407f391da672bdcf4fe','ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776',1,1);
INSERT INTO "comparison" VALUES('acme/search','4ab321e733402e172fa7579716e3c4578c78a2e5','e111e22a9417db90e05d5ea2d7e745f7fa460b4a',2,0);
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-052dc59','052dc59149ba6c614c7b4fb3dbff2322b9648bb6','tag',1794913910624656);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.3','1d826e08318bcd1bc016b2395652c1e1cd47b961','label',1794913910741972);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-5160769','5160769de6fa20d21c75faf71c975698a804581b','tag',1794913931700816);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','develop-ccf94f4','ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776','tag',1794913966442873);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-9','ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776','report',1794913969503904);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.4','e111e22a9417db90e05d5ea2d7e745f7fa460b4a','label',1794913988027969);
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
INSERT INTO "inbox" VALUES(1,'slack_command','1.1794913896188.00000000000000000000000100000000',NULL,1794913896201599,1794913896201599,0,NULL,1794913896271201);
INSERT INTO "inbox" VALUES(2,'flux','3522b835e28a1b81433a5e068d5817bd',NULL,1794913910600561,1794913910600561,0,NULL,1794913910641160);
INSERT INTO "inbox" VALUES(3,'flux','baae1a04c55f4472094488f184f6266e',NULL,1794913910641160,1794913910641160,0,NULL,1794913910728174);
INSERT INTO "inbox" VALUES(4,'flux','dde8b01bf756ff8cc97e95ffa82eaf73',NULL,1794913913460184,1794913913460184,0,NULL,1794913913503456);
INSERT INTO "inbox" VALUES(5,'flux','ee02df94cea59780b5c1d9e17fc5c36a',NULL,1794913913660770,1794913913660770,0,NULL,1794913913871693);
INSERT INTO "inbox" VALUES(6,'slack_command','9.1794913916772.00000000000000000000000900000000',NULL,1794913916773696,1794913916773696,0,NULL,1794913916968930);
INSERT INTO "inbox" VALUES(7,'slack_command','12.1794913916977.00000000000000000000000c00000000',NULL,1794913916980402,1794913916980402,0,NULL,1794913917012047);
INSERT INTO "inbox" VALUES(8,'slack_command','17.1794913925273.00000000000000000000001100000000',NULL,1794913925274343,1794913925274343,0,NULL,1794913925336708);
INSERT INTO "inbox" VALUES(9,'flux','0b395d1b5a9bbc12dc4b3a787168f7e3',NULL,1794913931678090,1794913931678090,0,NULL,1794913931693184);
INSERT INTO "inbox" VALUES(10,'flux','e8a22193a0f1fd6b7a3cb69ef6dbc7cf',NULL,1794913934581168,1794913934581168,0,NULL,1794913934776501);
INSERT INTO "inbox" VALUES(11,'slack_command','23.1794913935072.00000000000000000000001700000000',NULL,1794913935073959,1794913935073959,0,NULL,1794913935341828);
INSERT INTO "inbox" VALUES(12,'slack_command','27.1794913939761.00000000000000000000001b00000000',NULL,1794913939762425,1794913939762425,0,NULL,1794913940229065);
INSERT INTO "inbox" VALUES(13,'slack_command','31.1794913947162.00000000000000000000001f00000000',NULL,1794913947163298,1794913947163298,0,NULL,1794913947277600);
INSERT INTO "inbox" VALUES(14,'slack_command','53.1794913947458.00000000000000000000003500000000',NULL,1794913947459007,1794913947459007,0,NULL,1794913947565105);
INSERT INTO "inbox" VALUES(15,'slack_command','57.1794913951818.00000000000000000000003900000000',NULL,1794913951821502,1794913951821502,0,NULL,1794913951852586);
INSERT INTO "inbox" VALUES(16,'slack_command','60.1794913951834.00000000000000000000003c00000000',NULL,1794913951835468,1794913951835468,0,NULL,1794913951881245);
INSERT INTO "inbox" VALUES(17,'slack_command','63.1794913951863.00000000000000000000003f00000000',NULL,1794913951881245,1794913951881245,0,NULL,1794913951885938);
INSERT INTO "inbox" VALUES(18,'flux','8ef5e32982da5ed69c793f12e3fc1a79',NULL,1794913966416735,1794913966416735,0,NULL,1794913966426773);
INSERT INTO "inbox" VALUES(19,'flux','b4d16065ed6747f770e09a6e375299ac',NULL,1794913966423225,1794913966423225,0,NULL,1794913966442873);
INSERT INTO "inbox" VALUES(20,'flux','698e0211ff3a87e00cc3d8ec31a40e19',NULL,1794913969476615,1794913969476615,0,NULL,1794913969503904);
INSERT INTO "inbox" VALUES(21,'flux','f9483e285555bcff3ca620c75b13c00b',NULL,1794913969503904,1794913969503904,0,NULL,1794913969515001);
INSERT INTO "inbox" VALUES(22,'slack_command','73.1794913969530.00000000000000000000004900000000',NULL,1794913969605163,1794913969605163,0,NULL,1794913969674491);
INSERT INTO "inbox" VALUES(23,'slack_command','78.1794913969615.00000000000000000000004e00000000',NULL,1794913969616539,1794913969616539,0,NULL,1794913969673516);
INSERT INTO "inbox" VALUES(24,'slack_command','101.1794913986025.00000000000000000000006500000000',NULL,1794913986026387,1794913986026387,0,NULL,1794913986077229);
INSERT INTO "inbox" VALUES(25,'flux','f82753e2434bc59bda99f737ff8ca3d4',NULL,1794913988003503,1794913988003503,0,NULL,1794913988040432);
INSERT INTO "inbox" VALUES(26,'flux','30c1109bdb28422cdf1031555bd94321',NULL,1794913991022350,1794913991022350,0,NULL,1794913991066924);
INSERT INTO "inbox" VALUES(27,'slack_command','104.1794913992163.00000000000000000000006800000000',NULL,1794913992165504,1794913992165504,0,NULL,1794913992212849);
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
INSERT INTO "ledger" VALUES(1,1794913910626115,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:11:50.441880156Z","commit":"052dc59149ba6c614c7b4fb3dbff2322b9648bb6","environment":"development","key":"3522b835e28a1b81433a5e068d5817bd","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:052dc59149ba6c614c7b4fb3dbff2322b9648bb6"}');
INSERT INTO "ledger" VALUES(2,1794913910656737,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:11:50.4427298Z","commit":"85f18050f42e998c26f395c38e063fd1ab4c6db2","environment":"development","key":"baae1a04c55f4472094488f184f6266e","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:85f18050f42e998c26f395c38e063fd1ab4c6db2"}');
INSERT INTO "ledger" VALUES(3,1794913913465502,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"052dc59149ba6c614c7b4fb3dbff2322b9648bb6","digest":null,"tag":"develop-052dc59"}}');
INSERT INTO "ledger" VALUES(4,1794913913491263,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:11:53.458828295Z","commit":"052dc59149ba6c614c7b4fb3dbff2322b9648bb6","environment":"development","key":"dde8b01bf756ff8cc97e95ffa82eaf73","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:052dc59149ba6c614c7b4fb3dbff2322b9648bb6"}');
INSERT INTO "ledger" VALUES(5,1794913913757596,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"1d826e08318bcd1bc016b2395652c1e1cd47b961","digest":null,"tag":"1.0.3"}}');
INSERT INTO "ledger" VALUES(6,1794913913849131,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:11:53.659023806Z","commit":"85f18050f42e998c26f395c38e063fd1ab4c6db2","environment":"development","key":"ee02df94cea59780b5c1d9e17fc5c36a","message":"Reconciliation finished in 3.2s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:85f18050f42e998c26f395c38e063fd1ab4c6db2"}');
INSERT INTO "ledger" VALUES(7,1794913931693072,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:12:11.425801884Z","commit":"5160769de6fa20d21c75faf71c975698a804581b","environment":"development","key":"0b395d1b5a9bbc12dc4b3a787168f7e3","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:5160769de6fa20d21c75faf71c975698a804581b"}');
INSERT INTO "ledger" VALUES(8,1794913934669788,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"5160769de6fa20d21c75faf71c975698a804581b","digest":null,"tag":"develop-5160769"}}');
INSERT INTO "ledger" VALUES(9,1794913934763453,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:12:14.547249297Z","commit":"5160769de6fa20d21c75faf71c975698a804581b","environment":"development","key":"e8a22193a0f1fd6b7a3cb69ef6dbc7cf","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:5160769de6fa20d21c75faf71c975698a804581b"}');
INSERT INTO "ledger" VALUES(10,1794913966423724,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:12:46.409976701Z","commit":"ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776","environment":"development","key":"8ef5e32982da5ed69c793f12e3fc1a79","message":"StatefulSet/development/mailer configured\nDeployment/development/mailer-web configured","outcome":"progressing","revision":"develop@sha1:ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776"}');
INSERT INTO "ledger" VALUES(11,1794913966427157,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:12:46.410726105Z","commit":"ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776","environment":"development","key":"b4d16065ed6747f770e09a6e375299ac","message":"Deployment/development/storefront configured","outcome":"progressing","revision":"develop@sha1:ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776"}');
INSERT INTO "ledger" VALUES(12,1794913969461447,NULL,'arrived','mailer','development','"controller"','{"failed":null,"version":{"commit":null,"digest":null,"tag":"build-9"}}');
INSERT INTO "ledger" VALUES(13,1794913969465516,NULL,'arrived','storefront','development','"controller"','{"failed":null,"version":{"commit":"ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776","digest":null,"tag":"develop-ccf94f4"}}');
INSERT INTO "ledger" VALUES(14,1794913969493260,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:12:49.455011305Z","commit":"ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776","environment":"development","key":"698e0211ff3a87e00cc3d8ec31a40e19","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776"}');
INSERT INTO "ledger" VALUES(15,1794913969514295,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:12:49.461843934Z","commit":"ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776","environment":"development","key":"f9483e285555bcff3ca620c75b13c00b","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776"}');
INSERT INTO "ledger" VALUES(16,1794913988034455,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:13:07.999590068Z","commit":"2a021c7d8303db9c9cc3db6dc8e95ad757f73302","environment":"development","key":"f82753e2434bc59bda99f737ff8ca3d4","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:2a021c7d8303db9c9cc3db6dc8e95ad757f73302"}');
INSERT INTO "ledger" VALUES(17,1794913991026114,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"e111e22a9417db90e05d5ea2d7e745f7fa460b4a","digest":null,"tag":"1.0.4"}}');
INSERT INTO "ledger" VALUES(18,1794913991054368,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:13:11.020420645Z","commit":"2a021c7d8303db9c9cc3db6dc8e95ad757f73302","environment":"development","key":"30c1109bdb28422cdf1031555bd94321","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:2a021c7d8303db9c9cc3db6dc8e95ad757f73302"}');
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
INSERT INTO "outbox" VALUES(1,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000002U","until":"2026-11-17T11:43:06.026387Z"},"replace":false}},"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794913986077229,1794913999854271,4,'the response URL was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(2,'#deploys','arrival:development:search:1794913988001425','{"to":{"post":{"channel":"#deploys","key":"arrival:development:search:1794913988001425","thread":null,"asked":null}},"text":"search 1.0.4 runs in development","blocks":[{"text":{"text":":large_green_circle: *search* `1.0.4` runs in *development*\n<http://127.0.0.1:8484/sim/github/acme/search/commit/e111e22a9417db90e05d5ea2d7e745f7fa460b4a|e111e22> Sort by price · Alice Adler · rolled out in 3 s","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: `/promote search qa`","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794913991050370,1794913994077018,2,'chat.postMessage was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(3,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000002X","until":"2026-11-17T11:43:12.165504Z"},"replace":false}},"text":"I understand `promote &lt;artefact&gt; [environment] [@version] [--dry-run]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `promote &lt;artefact&gt; [environment] [@version] [--dry-run]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794913992212849,1794913992212849,0,NULL);
CREATE TABLE said (
    key     TEXT   PRIMARY KEY,
    queue   TEXT   NOT NULL,
    channel TEXT   NOT NULL,
    ts      TEXT   NOT NULL,
    note    TEXT,
    said_at BIGINT NOT NULL
);
INSERT INTO "said" VALUES('arrival:development:checkout:1794913910445358','#deploys','C0DEPLOYS','1794913913.508200',NULL,1794913913521480);
INSERT INTO "said" VALUES('arrival:development:search:1794913910445382','#deploys','C0DEPLOYS','1794913913.880700',NULL,1794913913894399);
INSERT INTO "said" VALUES('arrival:development:checkout:1794913931473276','#deploys','C0DEPLOYS','1794913934.778900',NULL,1794913934780818);
INSERT INTO "said" VALUES('arrival:development:mailer:1794913966409782','#deploys','C0DEPLOYS','1794913969.489200',NULL,1794913969612661);
INSERT INTO "said" VALUES('arrival:development:storefront:1794913966416876','#deploys','C0DEPLOYS','1794913969.506400',NULL,1794913969509721);
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
);
INSERT INTO "sighting" VALUES(1,'checkout','development','develop-056f282',NULL,'056f28226d6f99f766cb0c3c5dcd0c193e191eae',1794399092224552,1794399092224552,NULL,1794485492224552,1);
INSERT INTO "sighting" VALUES(2,'checkout','development','develop-29a8061',NULL,'29a8061df3700c0a78ca9b5e2ce25b684c659529',1794485492224552,1794485492224552,NULL,1794571892224552,1);
INSERT INTO "sighting" VALUES(3,'checkout','qa','qa-056f282',NULL,'056f28226d6f99f766cb0c3c5dcd0c193e191eae',1794492692224552,1794492692224552,NULL,1794579092224552,1);
INSERT INTO "sighting" VALUES(4,'checkout','development','develop-3f1aee0',NULL,'3f1aee0d6eb7f5b557cb38437b41111b9e6ef657',1794571892224552,1794571892224552,NULL,1794658292224552,1);
INSERT INTO "sighting" VALUES(5,'checkout','qa','qa-17fc37e',NULL,'17fc37e5e0d366b5cd98695e456019a59152aea5',1794579092224552,1794579092224552,NULL,1794665492224552,1);
INSERT INTO "sighting" VALUES(6,'checkout','staging','staging-056f282',NULL,'056f28226d6f99f766cb0c3c5dcd0c193e191eae',1794582692224552,1794582692224552,NULL,1794669092224552,1);
INSERT INTO "sighting" VALUES(7,'checkout','development','develop-3dc45d7',NULL,'3dc45d70b9ad2590203696514579aaafefccecb6',1794658292224552,1794658292224552,NULL,1794744692224552,1);
INSERT INTO "sighting" VALUES(8,'checkout','qa','qa-90615c1',NULL,'90615c1a2f2189d238008885de1c18a7b9da4745',1794665492224552,1794665492224552,NULL,1794751892224552,1);
INSERT INTO "sighting" VALUES(9,'checkout','staging','staging-aa8839b',NULL,'aa8839becb472c443dbfe878b54790c49bd6de38',1794669092224552,1794669092224552,NULL,1794755492224552,1);
INSERT INTO "sighting" VALUES(10,'checkout','prod','prod-056f282',NULL,'056f28226d6f99f766cb0c3c5dcd0c193e191eae',1794672692224552,1794672692224552,NULL,1794759092224552,1);
INSERT INTO "sighting" VALUES(11,'checkout','development','develop-8704e4b',NULL,'8704e4b96c734b305b6852ec988f640bfbf72560',1794744692224552,1794744692224552,NULL,1794831092224552,1);
INSERT INTO "sighting" VALUES(12,'checkout','qa','qa-0bb6b3e',NULL,'0bb6b3e9036b83e0f5a2d56739c4a87887a45ff2',1794751892224552,1794751892224552,NULL,1794838292224552,1);
INSERT INTO "sighting" VALUES(13,'checkout','staging','staging-b6bc6de',NULL,'b6bc6defa986ad9a07b08eee167a37be5d4ed266',1794755492224552,1794755492224552,NULL,1794841892224552,1);
INSERT INTO "sighting" VALUES(14,'checkout','prod','prod-8efb218',NULL,'8efb218cf9b127f850ef669e82494f4725c1a612',1794759092224552,1794759092224552,NULL,1794845492224552,1);
INSERT INTO "sighting" VALUES(15,'checkout','development','develop-64cb51f',NULL,'64cb51faf7b3a05bd641c4c0aecc71374b37eb17',1794831092224552,1794831092224552,NULL,1794913910445358,1);
INSERT INTO "sighting" VALUES(16,'checkout','qa','qa-6d66585',NULL,'6d6658511197f580e02743609d9da128d63e0730',1794838292224552,1794838292224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(17,'checkout','staging','staging-42181de',NULL,'42181defe852c2f15e3c1fc5f712dec0a5695a94',1794841892224552,1794841892224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(18,'checkout','prod','prod-1bf0087',NULL,'1bf00874c65b1300afb7a04d6f55c44a1a4135f1',1794845492224552,1794845492224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(19,'mailer','development','build-1',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794399092224552,1794399092224552,NULL,1794485492224552,1);
INSERT INTO "sighting" VALUES(20,'storefront','development','develop-686e626',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794399092224552,1794399092224552,NULL,1794485492224552,1);
INSERT INTO "sighting" VALUES(21,'mailer','qa','build-2',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794406292224552,1794406292224552,NULL,1794492692224552,1);
INSERT INTO "sighting" VALUES(22,'storefront','qa','qa-686e626',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794406292224552,1794406292224552,NULL,1794492692224552,1);
INSERT INTO "sighting" VALUES(23,'mailer','staging','build-3',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794409892224552,1794409892224552,NULL,1794496292224552,1);
INSERT INTO "sighting" VALUES(24,'storefront','staging','staging-686e626',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794409892224552,1794409892224552,NULL,1794496292224552,1);
INSERT INTO "sighting" VALUES(25,'mailer','prod','build-4',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794413492224552,1794413492224552,NULL,1794499892224552,1);
INSERT INTO "sighting" VALUES(26,'storefront','prod','prod-686e626',NULL,'686e626ceff4f9168d7b9e5224301cdabd78db67',1794413492224552,1794413492224552,NULL,1794499892224552,1);
INSERT INTO "sighting" VALUES(27,'mailer','development','build-5',NULL,'87214216c6c0a9d231bbbf2c69aab4a69f2f4a3d',1794485492224552,1794485492224552,NULL,1794913966409782,1);
INSERT INTO "sighting" VALUES(28,'storefront','development','develop-8721421',NULL,'87214216c6c0a9d231bbbf2c69aab4a69f2f4a3d',1794485492224552,1794485492224552,NULL,1794913966416876,1);
INSERT INTO "sighting" VALUES(29,'mailer','qa','build-6',NULL,'8c298c6233b16f7dd23fb407f391da672bdcf4fe',1794492692224552,1794492692224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(30,'storefront','qa','qa-8c298c6',NULL,'8c298c6233b16f7dd23fb407f391da672bdcf4fe',1794492692224552,1794492692224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(31,'mailer','staging','build-7',NULL,'f839665f92e12531dcf070c6f8eb1839ce449a74',1794496292224552,1794496292224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(32,'storefront','staging','staging-f839665',NULL,'f839665f92e12531dcf070c6f8eb1839ce449a74',1794496292224552,1794496292224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(33,'mailer','prod','build-8',NULL,'da3b6af623a0390c5a138df4f1c63a458fd0e847',1794499892224552,1794499892224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(34,'storefront','prod','prod-da3b6af',NULL,'da3b6af623a0390c5a138df4f1c63a458fd0e847',1794499892224552,1794499892224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(35,'search','development','1.0.1',NULL,'bf2ff227e1972a01f782796f311f776bcf59a3ca',1794402692224552,1794402692224552,NULL,1794489092224552,1);
INSERT INTO "sighting" VALUES(36,'search','qa','1.0.1',NULL,'bf2ff227e1972a01f782796f311f776bcf59a3ca',1794406292224552,1794406292224552,NULL,1794492692224552,1);
INSERT INTO "sighting" VALUES(37,'search','staging','1.0.1',NULL,'bf2ff227e1972a01f782796f311f776bcf59a3ca',1794409892224552,1794409892224552,NULL,1794496292224552,1);
INSERT INTO "sighting" VALUES(38,'search','prod','1.0.1',NULL,'bf2ff227e1972a01f782796f311f776bcf59a3ca',1794413492224552,1794413492224552,NULL,1794499892224552,1);
INSERT INTO "sighting" VALUES(39,'search','development','1.0.2',NULL,'4ab321e733402e172fa7579716e3c4578c78a2e5',1794489092224552,1794489092224552,NULL,1794913910445382,1);
INSERT INTO "sighting" VALUES(40,'search','qa','1.0.2',NULL,'4ab321e733402e172fa7579716e3c4578c78a2e5',1794492692224552,1794492692224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(41,'search','staging','1.0.2',NULL,'4ab321e733402e172fa7579716e3c4578c78a2e5',1794496292224552,1794496292224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(42,'search','prod','1.0.2',NULL,'4ab321e733402e172fa7579716e3c4578c78a2e5',1794499892224552,1794499892224552,NULL,NULL,1);
INSERT INTO "sighting" VALUES(43,'checkout','development','develop-052dc59',NULL,'052dc59149ba6c614c7b4fb3dbff2322b9648bb6',1794913910445358,1794913913457332,NULL,1794913931473276,1);
INSERT INTO "sighting" VALUES(44,'search','development','1.0.3',NULL,'1d826e08318bcd1bc016b2395652c1e1cd47b961',1794913910445382,1794913913680505,NULL,1794913988001425,1);
INSERT INTO "sighting" VALUES(45,'checkout','development','develop-5160769',NULL,'5160769de6fa20d21c75faf71c975698a804581b',1794913931473276,1794913934592989,NULL,NULL,1);
INSERT INTO "sighting" VALUES(46,'mailer','development','build-9',NULL,'ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776',1794913966409782,1794913969461412,NULL,NULL,1);
INSERT INTO "sighting" VALUES(47,'storefront','development','develop-ccf94f4',NULL,'ccf94f43dc2ab1e9d47f7f07c795e38a6cd6e776',1794913966416876,1794913969461420,NULL,NULL,1);
INSERT INTO "sighting" VALUES(48,'search','development','1.0.4',NULL,'e111e22a9417db90e05d5ea2d7e745f7fa460b4a',1794913988001425,1794913991021719,NULL,NULL,1);
CREATE INDEX inbox_waiting ON inbox (due_at) WHERE done_at IS NULL;
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_queue ON outbox (queue, id);
CREATE INDEX said_at ON said (said_at);
CREATE INDEX ledger_change ON ledger (change_id, id) WHERE change_id IS NOT NULL;
CREATE INDEX ledger_place ON ledger (artefact, environment, id);
CREATE UNIQUE INDEX sighting_now ON sighting (artefact, environment) WHERE ended_at IS NULL;
CREATE INDEX sighting_history ON sighting (artefact, environment, seen_at);
COMMIT;
