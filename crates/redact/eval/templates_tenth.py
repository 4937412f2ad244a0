"""Templates of the tenth hold-out, written together with the ninth's and opened after it."""

TEXT = [
    # Letters.
    "Department of Neurology\n\nConcerning: {name}, {dob}\nResiding: {street}, {zip} {city}\n\nHonoured colleague,\nwe report on the stay of the above patient, who came to us on {date} because of double vision. The lumbar puncture showed oligoclonal bands, the magnetic resonance scan several lesions near the ventricles. We began treatment with steroids, which was tolerated without problems. {first} was told the diagnosis in the presence of {relative}.\n\nWith collegial greetings\n{doctor}        {nurse}\nHead of department        Ward physician",
    "Our ref: {case}\nYour ref: {last}\n\nThank you for your letter of {date}. We confirm that {relative} may accompany {first} during the scan. Parking is free for one hour. Bring the card with the number {plan}. Sedation means no driving for a day. Sincerely, {nurse}, Appointments",
    "{doctor}\n{street}\n{city}\n\n{date}\n\nTo the employer of {name}\n\nI certify that this employee cannot lift more than five kilograms until further notice owing to a prolapsed disc.\n\nStamp and signature",
    "My dear {first}, it was lovely to hear that the new knee is doing so well. {relative_first} and I hope to see you in {city} soon. Keep up the exercises that {nurse} taught you. Love, {relative_first}",
    # Dictation without punctuation.
    "patient is {last|lower} first name {first|lower} date of birth {dob} new paragraph she complains of palpitations mostly at night no chest pain no syncope full stop holter monitor ordered full stop copy to {doctor_last|lower} in {city|lower} full stop",
    "operation note surgeon {doctor|lower} assistant {nurse|lower} the appendix was inflamed but not perforated it was removed through three ports the skin was closed with absorbable sutures the patient went to recovery awake",
    "home visit to {relative_first|lower} at {street|lower} found her breathless at rest ankles swollen to the knee increased furosemide told daughter {first|lower} to call if worse",
    "okay this is about {name|lower} he is a retired farmer from {city|lower} with a cough for six weeks he lost nine kilos his wife {relative|lower} says he smokes forty a day urgent chest film please",
    # Chat.
    "{nurse} 22:41\nbed {room} is refusing the cannula\n{doctor} 22:43\nis that {last}?\n{nurse} 22:44\nyes, wife {relative_first} is with him, she is fine with tablets\n{doctor} 22:47\nok linezolid oral then",
    "bot> which pharmacy?\nuser> the one in {city}, near {street}\nbot> whose prescription?\nuser> my dad's, {name}, he was born {dob}\nbot> I found ramipril and simvastatin, shall I send both?\nuser> yes, call me, {phone}",
    "Anyone free to translate for {relative}? Family of {first} {last}, just landed from {city}, child with febrile convulsion, parents frightened",
    "Thanks {first}! Got your photo of the rash. Looks like ringworm to me. Use the cream twice a day and wash the towels. Is {relative_first} itching too? - {doctor_last}",
    # Forms.
    "Family name: {last}\nGiven names: {first}\nMaiden name: {doctor_last}\nMother: {relative}\nBirthplace: {city}\nCorrespondence to: {street}, {city}\nEmployer: unemployed\nBlood group: A negative\nPassport: {licence}",
    "Consent for anaesthesia\nI, {name}, living in {city}, have been informed by {doctor} about the risks, in particular nausea, sore throat, damage to teeth and awareness.\nPlace, date: {city}, {date}\nWitness: {nurse}",
    "[x] fall  [ ] pressure sore  [ ] medication error\nResident: {first} {last}, room {room}\nReported by: {nurse}\nInformed: {relative} ({phone}), {doctor_last}\nWhat happened: Slipped on wet floor in the shower, bruise on the left buttock\nMeasures: Non-slip mat",
    "Name/{name}/Sex/F/Born/{dob}/Town/{city}/Street/{street}/Code/{zip}\nComplaint/itching of both palms/Treatment/permethrin",
    "Ship to   {relative}\n          {address}\nBill to   {name}, {account}\nItem      Compression stockings, class two, beige\nPhone     {phone}\nTracking  {url}",
    "Vehicle: {plate}\nVIN: {vin}\nKeeper: {name}, {address}\nInjured: {relative}\nInjuries: Fracture of the collar bone, abrasions\nOfficer: {nurse}",
    # Lists.
    "Handover\n* {last} - sepsis, lactate falling, family in {city} informed\n* {relative} - for discharge, tablets to take home are ready\n* {doctor_last}, {first} - new, chest drain, swinging\n* {room}: isolation for influenza",
    "Phone list: {doctor} {phone}; {nurse} {phone}; {relative} (next of kin, evenings only) {phone}; porter's lodge internal",
    "{last} {first}   {dob}   appendicitis   {city}\n{relative}   {dob}   tonsillitis   {city}\n{nurse}   {dob}   concussion   {street}",
    "Mother: {relative}, diabetes, alive at {old_age}\nFather: died of stroke in {city}\nSiblings: {relative_first} (asthma), {doctor_last} twins, healthy\nIndex patient: {first}",
    # E-mails.
    "To: reception\nCc: {doctor}\nSubject: Re: Re: new patient {last}\n\nHi all,\n\n{name} would like to register; the family moved here from {city} last week and now rents at {street}. The mail is {email}. Previous physician was {nurse}. Records come by fax, {fax}.\n\nCheers,\n{relative_first}",
    "Subject: prescription\n\nDear doctor, I have run out of my thyroid tablets. I take 75 micrograms. Please send the prescription to the pharmacy at {street} or to my home, {address}. My insurance number is {plan}. Regards, {name}",
    "Good evening {doctor_last}, attached the ECG of {relative}. Voltage criteria for hypertrophy, otherwise nothing. Can {first} bring the echo on {date}? Greetings from {city}, {nurse}",
    "Hi {relative_first}, quick one: did {last} sign the discharge papers? Social security ({ssn}) was missing on page two. Upload at {url} please, the fax {fax} is out of paper. {nurse}",
    # Scans with broken lines.
    "{last|upper}\n{first|upper}\nWard 7\n{date}\nHAEMOGLOBIN 9.8\nPLATELETS 402\nFERRITIN 6\nCOMMENT: IRON DEFICIENCY\nAUTHORISED BY {doctor|upper}\n{city|upper}",
    "Summary for {name|break}\nThe patient lives in\n{city|break} together with\n{relative|break} and has a\nhome help. Walks with\ntwo sticks. Contin-\nent by day.",
    "Copy sent to\n{doctor}\n{address|break}\n\nUltrasound abdomen: gall-\nstones without cholecys-\ntitis. Kidneys normal.\nTechnician {nurse|break}",
    # Narrative.
    "{first} likes to be called by the first name. Breakfast at nine, porridge without sugar. Was a seamstress in {city}; talks about {relative_first} a lot, who died in the war. Dislikes showers. Hearing aid {device} on the left.",
    "On {date} the rescue helicopter flew {name} from {city} to us after an avalanche. Core temperature 27 degrees, potassium 4.8, no trauma. Rewarmed by bypass. {relative}, a companion, lost two toes. {doctor} led the team; {nurse} kept the protocol.",
    "The letter to {street} came back as undeliverable. According to {relative}, {last} has gone to stay with {relative_first} in {city}. The anticoagulation clinic was warned; INR overdue since {date}.",
    "Records of {name} ({mrn}) were opened from {ip}. Reason given: {nurse} had mistaken the patient for someone of the same surname in {city}. Apology sent to {email}. Hotline {spoken_phone}. Raw log: {hidden}",
    "What worries {relative} most is that {first} hardly eats. At the last weighing on {date} it was 38 kilograms. A feeding tube was discussed with {doctor_last} and refused. They return to {city} on Friday.",
]

JSON = [
    {"encounter": {"subject": {"display": "{name}"}, "participant": [{"display": "{doctor}"}, {"display": "{nurse}"}], "location": "{city}", "reason": "Painful swelling of the parotid gland"}},
    {"rows": [{"patient_name": "{last} {first}", "home": "{street}, {zip} {city}", "dx": "gout"}, {"patient_name": "{relative}", "home": "{address}", "dx": "shingles"}]},
    {"message": "Hello {first}, {doctor_last} has looked at the results: the vitamin level is low. {relative_first} can collect the drops at the pharmacy in {city}.", "to": "{phone}"},
    {"sender": {"fullName": "{relative}", "email": "{email}"}, "text": "Please stop sending post for {name} to {street}. We live in {city} now."},
    {"form": "accident", "insured": "{name}", "number": "{plan}", "where": "{street}, {city}", "witness": "{relative}", "injury": "Sprained ankle, ligament intact"},
    {"meta": {"author": "{nurse}", "created": "{date}"}, "note": "Wound of {last} is clean. {relative_first} will change the dressing. Next visit at {address}."},
]
