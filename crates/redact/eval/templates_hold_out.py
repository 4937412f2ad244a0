"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Urology letter\n{date}\n\nPatient: {name}, {dob}\nHome: {address}\n\nProstate enlarged, PSA 6.2. Tamsulosin started, biopsy offered. He will decide with {relative_first}.\n\n{doctor}",
    "Evening report: {last} ate half of the dinner, drank 400 mL. Daughter {relative} visited from {city}. Mild confusion after nine. {nurse} on duty.",
    "{relative} requests a wheelchair ramp at {street}, {city}, for {name}. Measurements taken by {nurse} on {date}.",
    "Lung function of {first} {last}: FEV1 62%, reversibility 9%. Ex-smoker. Inhaler technique corrected. {doctor_last} wants a chest CT. Questions to {phone}.",
    "Emergency card\nI am {name}.\nI live at {address}.\nI take insulin. In an emergency call {relative} ({phone}).",
    "Gynecology: {name}, referred by {doctor} of {city}, has heavy periods since {date}. Ultrasound shows a fibroid of 4 cm. Iron tablets prescribed.",
    "Pediatric visit. {first}, six months old, brought by {relative} (mother) and {relative_first} (aunt). Weight 7.4 kg. Vaccines given, lot {device}.",
    "Postcard from {city}: dear nurses, thank you for everything, yours {first}. Filed in chart {mrn}.",
    "Complaint call from {relative}, {street}, {zip} {city}: waited three hours with {first}. Apology offered by {nurse}. Reference {case}.",
    "At {old_age} years of age {name} still drives; licence {licence}, car {plate}. {doctor_last} recommends a road test in {city}.",
    "Lab courier: samples of {name} ({mrn}) and {relative} (sister) picked up at {street} on {date}. Potassium 5.9, repeat.",
    "Burn follow-up: grafts have taken. {last} sleeps better and paints again. She is going back to {city} on {date}. Dressing supplies sent to {address}.",
    "Letter to insurer. Policy {plan}, SSN {ssn}. {name} needs infliximab every eight weeks. Signed {doctor}. Reply to {email} or fax {fax}.",
    "Security log {date}: {relative} parked VIN {vin} at the entrance; asked to move by {nurse}. Visited room {room}.",
    "Counselling, session 4. {first} talks about the years in {city} and about {relative_first}. No suicidal thoughts. Homework: mood diary.",
    "Dental hospital: wisdom tooth of {last}, {first} removed. Bleeding stopped. Bill to {relative}, {address}, account {account}.",
    "Crew sheet: {doctor_last}, {nurse}. Scene: {street}, {city}. Patient {name}, asystole, stopped at 04:12. {relative_first} comforted by neighbours.",
    "Portal message from {email} (IP {ip}): {first} asks whether the cast may get wet. Answered by {nurse}; leaflet at {url}.",
    "Please note the new phone of {name}: {spoken_phone}. Old letters to {street} came back. Token {hidden}.",
    "Hepatology: {last} has stopped drinking. Spleen palpable, ascites gone. Spironolactone 100 mg. Lives in {city} with {relative}. Review {date}.",
]

JSON = [
    {"resident": "{name}", "born": "{dob}", "lives": "{address}", "contact": {"name": "{relative}", "phone": "{phone}"}, "diet": "Soft, low salt"},
    {"log": [{"time": "08:10", "nurse": "{nurse}", "entry": "{first} walked to the window."}, {"time": "11:30", "nurse": "{nurse}", "entry": "{relative} from {city} called."}], "mrn": "{mrn}"},
    {"order": "{case}", "prescriber": "{doctor}", "drug": "Levothyroxine 75 mcg", "deliver": {"name": "{name}", "street": "{street}", "city": "{city}"}},
    {"text": "{relative} took {first} home to {street}, {city} on {date}.", "author": "{doctor}", "email": "{email}"},
]
